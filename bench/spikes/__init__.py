"""Why the loss spiked: real runs of a tiny GPT with one fault each, and what is said of them."""
