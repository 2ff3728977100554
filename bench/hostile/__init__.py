"""What one hostile sender costs all others: attacks from a table, beside an honest sender."""
