"""The pages of measured runs."""
