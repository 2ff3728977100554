"""What `rankscope mcp` offers an assistant: a running collector, read-only, over MCP."""
