"""Labels and names that several rows of the dashboard share."""

GPU = "{{host_name}} GPU {{gpu}}"
