"""Gradients of a suspicious step by layers: where a norm comes from, and what one element says."""

import math

from rankscope.probe import layer_gradients
from rankscope.probe.step_record import LayerGradient


def gradient(name, norm, largest=None, bad=0):
    return LayerGradient(name, norm, norm / 4 if largest is None else largest, bad)


def test_the_groups_with_the_largest_norms_are_named_largest_first():
    said = layer_gradients.described(
        [
            gradient("module.blocks.0.attention.in.weight", 3.0),
            gradient("module.blocks.0.attention.out.weight", 4.0),
            gradient("module.blocks.1.attention.in.weight", 9.0),
            gradient("module.head.weight", 0.5),
            gradient("scale", 0.1),
        ]
    )
    assert "blocks.1.attention=9 blocks.0.attention=5 head=0.5" == said["gradient_norms"]
    assert 4 == said["gradient_groups"]
    assert "element" not in said


def test_of_what_is_not_finite_the_group_nearest_to_the_loss_is_named():
    said = layer_gradients.described(
        [
            gradient("tokens.weight", math.nan, bad=5),
            gradient("blocks.0.weight", math.inf, bad=1),
            gradient("head.weight", 0.5),
        ]
    )
    assert (2, "blocks.0", 3) == tuple(
        said[name] for name in ("gradient_bad", "gradient_bad_last", "gradient_groups")
    )


def test_one_element_that_is_larger_than_all_others_together_is_named():
    said = layer_gradients.described(
        [gradient("a.weight", 1e34, largest=1e34), gradient("b.weight", 0.3)]
    )
    assert (1e34, "a", 0.3) == tuple(
        said[name] for name in ("element", "element_group", "element_others")
    )


def test_a_layer_with_many_large_elements_is_no_single_element():
    assert "element" not in layer_gradients.described(
        [gradient("a.weight", 1e4, largest=2e3), gradient("b.weight", 0.3)]
    )


def test_a_gradient_that_is_zero_but_for_one_element_of_all_says_nothing():
    assert "element" not in layer_gradients.described([gradient("a.weight", 2.0, largest=2.0)])
