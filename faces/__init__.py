"""What every face shares: the shape of errors, JSON coming in, names that resolve, lists that filter and sort, tables in and out."""
