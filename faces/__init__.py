"""What every face shares: the shape of errors, JSON coming in, names that resolve, lists, tables in and out."""
