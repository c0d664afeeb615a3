"""`almond soak`: counts that add up, episodes that can be run again by their seed, and refusals."""


def soak(almond, *arguments):
    result = almond("soak", *arguments, "--json", "-")
    assert result.code == 0, result.err
    return result.json()["all"]


def test_an_episode_runs_again_by_its_seed(almond):
    """The second of two episodes alone does what it did after the first."""
    case = ("painleve", "--solver", "auto", "--repeat-steps", 0)
    both, first = soak(almond, *case, "--seed", 5, "--steps", 700), soak(almond, *case, "--seed", 5, "--steps", 500)
    second, other = soak(almond, *case, "--seed", 6, "--steps", 200), soak(almond, *case, "--seed", 7, "--steps", 200)
    assert both["steps"] == 700 and first["steps"] == 500 and second["steps"] == 200
    for count in ("contacts", "pushes"):
        assert both[count] == first[count] + second[count]
    assert (other["contacts"], other["pushes"]) != (second["contacts"], second["pushes"])


def test_runs_are_repeated_over_threads_first(almond):
    once, again = (soak(almond, "tower", "--solver", "auto", "--steps", 1, "--repeat-steps", n) for n in (0, 8))
    assert once["steps"] == 1
    assert again["steps"] == 4 * 8  # twice with one thread, with two and with four


def test_what_it_cannot_do_is_refused(almond):
    for arguments, words in (
        (("nonsense",), "nonsense"),
        (("tower", "--steps", 0), "--steps 0: expected at least 1"),
        (("tower", "--solver", "magic"), "magic"),
    ):
        result = almond("soak", *arguments)
        assert result.code == 2 and len(result.err.strip().splitlines()) == 1 and words in result.err
