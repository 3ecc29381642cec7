"""What every catalogue shares: names that resolve, lists that filter and sort, twins in JSON and CSV, import with preview."""
