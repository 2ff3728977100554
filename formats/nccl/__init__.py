"""What NCCL reports of itself: answers of its RAS service, operations by its Inspector plug-in."""
