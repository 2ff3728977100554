"""The Prometheus text format as exporters really write it: read line by line, bounded, forgiving."""
