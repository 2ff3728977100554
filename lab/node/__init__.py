"""A node without its hardware: doubles of the driver, the kernel's trees and the kubelet."""
