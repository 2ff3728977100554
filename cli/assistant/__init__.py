"""What `rankscope mcp` offers an assistant: a running collector, read-only, over MCP.

In: requests over MCP. Out: answers of the collector's API, as tools and resources. Imports: alerts,
collector; asking.
"""
