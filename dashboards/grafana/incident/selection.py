"""Labels and names that several rows of the dashboard share."""

THIS = 'incident="$incident"'
