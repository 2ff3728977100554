"""Where webhooks may go, however the place is written."""

import pytest

from rankscope.collector.store import addresses


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "febf::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "64:ff9b::169.254.169.254",
        "2002:a9fe:a9fe::1",
        "::169.254.169.254",
        "not an address",
    ],
)
def test_link_local_and_metadata_addresses_are_forbidden_in_every_form(address):
    assert addresses.forbidden(address)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.7", "172.16.0.1", "8.8.8.8", "fd12::1",
     "2001:4860:4860::8888", "::ffff:10.0.0.1", "64:ff9b::8.8.8.8", "100.100.100.201"],
)  # fmt: skip
def test_receivers_of_the_site_and_of_the_internet_are_allowed(address):
    assert not addresses.forbidden(address)


def test_a_name_with_one_forbidden_address_is_refused_whole():
    with pytest.raises(addresses.ForbiddenAddressError):
        addresses.checked("x.test", 80, resolve=lambda _h, _p: ["10.0.0.1", "169.254.169.254"])


def test_odd_ways_to_write_an_address_are_resolved_before_they_are_judged():
    """The system reads 0xA9FEA9FE and 2852039166 as 169.254.169.254."""
    for text in ("0xA9FEA9FE", "2852039166", "169.254.43518"):
        with pytest.raises(addresses.ForbiddenAddressError):
            addresses.checked(text, 80)
