"""Cases of `scripts/browser-test` in which an item is lost, undone or open twice at the desk."""
import datetime
import time

from browser_desk import Demo, at_desk, current, items, say, sit, until


def lost_lease(browser, server):
    """A lost item is reported, its note is saved, and the next item is shown."""
    server.queue("lost", lease_seconds=3)
    server.items("lost", items(12))
    page = browser.new_page()
    sit(page, server, "lost", "ann")
    page.keyboard.press("c")
    first = until(lambda: current(page))
    page.keyboard.press("n")
    page.keyboard.type("half a thought")
    for path in ["**/desk/keep", "**/desk/next"]:
        page.route(path, lambda route: route.abort())
    page.wait_for_timeout(3500)
    server.ask("POST", "/v1/queues/lost/claims", {"reviewer": "bob", "k": 4})
    for path in ["**/desk/keep", "**/desk/next"]:
        page.unroute(path)
    until(lambda: "somebody else has it now" in page.inner_text("#bar"))
    until(lambda: current(page) not in (None, first))
    assert page.input_value("#note-text") == "" and "half a thought" in page.inner_text("#bar")
    page.click("#bar button:text-is('use it here')")
    assert page.input_value("#note-text") == "half a thought" and page.is_hidden("#bar")
    # A late verdict is refused, and its note is saved too.
    page.keyboard.press("Escape")
    second = current(page)
    for path in ["**/desk/keep", "**/desk/next"]:
        page.route(path, lambda route: route.abort())
    page.wait_for_timeout(3500)
    server.ask("POST", "/v1/queues/lost/claims", {"reviewer": "cyd", "k": 8})
    say(page, "1")
    until(lambda: "was not accepted: your time for it ran out" in page.inner_text("#bar"))
    assert "half a thought" in page.inner_text("#bar") and current(page) != second
    page.click("#bar button:text-is('discard')")
    until(lambda: "not accepted" not in page.inner_text("#bar"))
    # An expired item that still waits is claimed again, without a notice.
    for path in ["**/desk/keep", "**/desk/next"]:
        page.unroute(path)
    server.queue("again", lease_seconds=3)
    server.items("again", items(1))
    page.goto(server.url + "/q/again/desk")
    at_desk(page)
    page.keyboard.press("c")
    first = until(lambda: current(page))
    page.route("**/desk/keep", lambda route: route.abort())
    page.wait_for_timeout(4000)
    page.unroute("**/desk/keep")
    until(lambda: len(server.holders("again")) == 2)
    page.wait_for_timeout(500)
    assert current(page) == first and page.is_hidden("#bar"), page.inner_text("#bar")
    # Heartbeats of an open desk would look like news on the overview.
    page.close()
    return "gone to somebody else, a verdict too late, had again; no note lost"


def undone_in_turn(browser, server):
    """Several verdicts are undone one after the other, with their notes; and a skip."""
    server.queue("turns", undo_seconds=60)
    server.items("turns", items(12))
    page = browser.new_page()
    sit(page, server, "turns", "ann")
    press = page.keyboard.press
    press("c")
    seen = []
    for note in ["", "because of the second line", ""]:
        seen.append(until(lambda: current(page) not in (None, *seen) and current(page)))
        if note:
            press("n")
            page.keyboard.type(note)
            press("Escape")
        say(page, "1")
    until(lambda: len(server.verdicts("turns")) == 3)
    fourth = until(lambda: current(page) not in (None, *seen) and current(page))
    assert "2 more before it" in page.inner_text("#said"), page.inner_text("#said")
    for left, item in [(2, seen[2]), (1, seen[1])]:
        press("u")
        until(lambda: current(page) == item)
        until(lambda: len(server.verdicts("turns")) == left)
    assert page.input_value("#note-text") == "because of the second line"
    say(page, "2")
    until(lambda: current(page) == seen[2])
    say(page, "2")
    until(lambda: current(page) == fourth)
    until(lambda: len(server.verdicts("turns")) == 3)
    # After a reload too, and the note comes back from the server.
    page.reload()
    at_desk(page)
    for item in [seen[2], seen[1]]:
        press("u")
        until(lambda: current(page) == item)
    assert page.input_value("#note-text") == "because of the second line"

    def skips():
        return [event["reason"] for event in server.events("turns") if event.get("reason")]

    press("s")
    press("1")
    until(lambda: "Skipped" in page.inner_text("#said") and current(page) not in (None, seen[1]))
    press("u")
    until(lambda: current(page) == seen[1])
    assert skips() == []
    # After several skips other items are claimed; the skips are sent when the page is left.
    for turn in range(3):
        before = until(lambda: current(page))
        press("s")
        press(str(turn + 1))
        until(lambda: current(page) not in (None, before))
    assert skips() == []
    page.goto("about:blank")
    until(lambda: len(skips()) == 3)
    return "three verdicts and a skip, with a note, also after a reload"


def two_tabs(browser, server):
    """Two tabs of one reviewer show two items; a conflict between two browsers is explained."""
    server.queue("tabs")
    server.items("tabs", items(30))
    context = browser.new_context()
    one = context.new_page()
    sit(one, server, "tabs", "ann")
    one.keyboard.press("c")
    until(lambda: current(one))
    other = context.new_page()
    other.goto(server.url + "/q/tabs/desk")
    at_desk(other)
    for turn in range(10):
        until(lambda: current(one) and current(other) and current(one) != current(other))
        page = [one, other][turn % 2]
        before = current(page)
        say(page, "1")
        until(lambda: current(page) not in (None, before))
    until(lambda: len(server.verdicts("tabs")) == 10)
    assert one.is_hidden("#bar") and other.is_hidden("#bar")
    other.close()
    elsewhere = browser.new_context().new_page()
    sit(elsewhere, server, "tabs", "ann")
    until(lambda: current(elsewhere) == current(one))
    shared = current(one)
    say(one, "1")
    until(lambda: len(server.verdicts("tabs")) == 11)
    elsewhere.keyboard.press("n")
    elsewhere.keyboard.type("mine too")
    elsewhere.keyboard.press("Escape")
    say(elsewhere, "2")
    until(lambda: "in another tab or browser" in elsewhere.inner_text("#bar"))
    told = elsewhere.inner_text("#bar")
    assert "desk-" not in told and "mine too" in told, told
    until(lambda: current(elsewhere) not in (None, shared))
    return "10 verdicts in two tabs, none twice; one in two browsers"


def by_the_clock(browser, server):
    """Verdicts of today are counted by the reviewer's local day, and times are local."""
    server.queue("clock", k=600, undo_seconds=0)
    server.items("clock", items(600))
    claims = server.ask("POST", "/v1/queues/clock/claims", {"reviewer": "ann", "k": 600})["claims"]
    verdicts = [{"id": f"v{at}", "item": claim["item"], "reviewer": "ann", "token": claim["token"], "label": "fine"} for at, claim in enumerate(claims[:523])]
    server.ask("POST", "/v1/queues/clock/verdicts", {"verdicts": verdicts})
    now = datetime.datetime.now(datetime.timezone.utc)
    for hours in [-5, 5]:
        # POSIX counts westwards.
        page = browser.new_context(timezone_id=f"Etc/GMT{-hours:+d}").new_page()
        sit(page, server, "clock", "ann")
        there = now + datetime.timedelta(hours=hours)
        midnight_is_near = there.hour == 0 and there.minute < 5
        if not midnight_is_near:
            until(lambda: page.inner_text("#today") == "523")
        page.keyboard.press("l")
        told = until(lambda: page.locator("#last tbody tr td").first.inner_text())
        minutes = {(there + datetime.timedelta(minutes=late)).strftime("%H:%M") for late in range(-1, 3)}
        assert told[-5:] in minutes, (told, minutes)
    plain = browser.new_context(java_script_enabled=False).new_page()
    sit(plain, server, "clock", "ann", scripts=False)
    assert "(UTC)" in plain.inner_text("header") and "UTC" in plain.locator("#last tbody tr td").first.text_content()
    return "523 of today, five hours to the west and to the east"


def told_beside(browser, server):
    """A lost connection is reported even to a reviewer who only reads; notices cover and move nothing."""
    server.queue("beside", undo_seconds=60)
    made = items(20)
    for item in made:
        item["payload"] = {"text": "A long text that goes on and on.\n" * 60}
    server.items("beside", made)
    for width in [360, 1440]:
        page = browser.new_page(viewport={"width": width, "height": 800})
        sit(page, server, "beside", f"ann {width}")
        page.keyboard.press("c")
        until(lambda: current(page))
        place = lambda what: page.locator(what).first.bounding_box()
        before = {what: place(what) for what in ["#item", "button[name=label]"]}
        page.wait_for_timeout(600)
        server.kill()
        until(lambda: "cannot be reached" in page.inner_text("#bar"), 15)
        bar, read, button = place("#bar"), place("#read"), place("button[name=label]")
        assert read["y"] + read["height"] <= bar["y"] + 1 and bar["y"] + bar["height"] <= button["y"] + 1, (read, bar, button)
        after = {what: place(what) for what in before}
        assert all(after[what]["y"] == before[what]["y"] for what in before), (before, after)
        # The end of the text can still be scrolled into view.
        page.evaluate("document.getElementById('read').scrollTop = 1e6")
        end = page.evaluate("document.getElementById('item').getBoundingClientRect().bottom")
        assert end <= bar["y"], (end, bar)
        say(page, "1")
        until(lambda: "1 verdict waits" in page.inner_text("#bar"), 15)
        # Two states at once have two lines.
        page.keyboard.press("u")
        until(lambda: "may have arrived" in page.inner_text("#bar"), 15)
        page.wait_for_timeout(6000)
        told = page.inner_text("#bar")
        assert "waits in this browser" in told and "may have arrived" in told, told
        server.start()
        until(lambda: page.is_hidden("#bar"), 30)
        page.close()
    return "away is said to a reader at 360 and 1440 pixels, beside the text and the buttons; nothing moves"


def not_by_mistake(browser, server):
    """A double key press or tap judges one item, and no item is skipped without a chosen reason."""
    server.queue("mistake", undo_seconds=2)
    server.items("mistake", items(20))
    page = browser.new_page()
    sit(page, server, "mistake", "ann")
    press = page.keyboard.press
    press("c")
    first = until(lambda: current(page))
    say(page, "1")
    press("1")
    until(lambda: current(page) not in (None, first))
    second = current(page)
    page.wait_for_timeout(600)
    assert len(server.verdicts("mistake")) == 1 and current(page) == second
    page.locator("button[name=label]").first.dblclick()
    third = until(lambda: current(page) not in (None, second) and current(page))
    page.wait_for_timeout(600)
    assert len(server.verdicts("mistake")) == 2 and current(page) == third
    press("s")
    assert page.locator("#skipping input:checked").count() == 0
    press("Enter")
    until(lambda: "Choose a reason" in page.inner_text("#skipping"))
    assert current(page) == third
    # Typed words go into the field for the reason, focused or not.
    page.keyboard.type("not for me")
    assert page.input_value("input[name=other]") == "not for me"
    press("Enter")
    fourth = until(lambda: current(page) not in (None, third) and current(page))
    press("s")
    assert page.input_value("input[name=other]") == ""
    press("Tab")
    press("ArrowDown")
    assert page.locator("#skipping input:checked").count() == 1
    press("Enter")
    until(lambda: current(page) not in (None, fourth))
    # A number skips, and pressed again it does not judge the next item.
    press("s")
    press("3")
    press("3")
    reasons = lambda: [event["reason"] for event in server.events("mistake") if event.get("reason")]
    until(lambda: len(reasons()) == 3)
    assert reasons() == ["not for me", "not enough shown to judge it", "personally involved"], reasons()
    assert len(server.verdicts("mistake")) == 2
    page.close()
    # With plain forms, a skip without a reason is refused with a message.
    plain = browser.new_context(java_script_enabled=False).new_page()
    sit(plain, server, "mistake", "old browser", scripts=False)
    plain.click("#claim button")
    with plain.expect_response("**/desk/skip") as answer:
        plain.click("#skipping button.main")
    assert answer.value.status == 422 and "choose a reason" in plain.inner_text("main").lower(), plain.inner_text("main")
    return "two presses and two taps, one verdict each; skips by number, by arrows, in words, and none without a reason"


def skipped_on(browser, server):
    """Skips in a row each show another item, and a long reason leaves room to read and judge."""
    server.queue("skips", undo_seconds=60)
    server.items("skips", items(40))
    page = browser.new_page(viewport={"width": 360, "height": 640})
    sit(page, server, "skips", "ann")
    press = page.keyboard.press
    press("c")
    until(lambda: current(page))
    seen = []
    sent = lambda: sum(1 for event in server.events("skips") if event.get("reason"))
    for _ in range(14):
        seen.append(until(lambda: current(page) not in (None, *seen) and current(page)))
        press("s")
        press("1")
        # The first skips can no longer be undone and are sent; the others wait.
        until(lambda: sent() == max(0, len(seen) - 8))
    until(lambda: current(page) not in (None, *seen))
    # The server has the last sent skip a moment before the browser gets its answer.
    until(lambda: "7 more before it" in page.text_content("#said"))
    before, last = current(page), seen[-1]
    press("u")
    until(lambda: current(page) == last)
    read = page.locator("#read").bounding_box()["height"]
    press("s")
    page.fill("input[name=other]", "a reason that goes on " * 22)
    press("Enter")
    until(lambda: current(page) == before)
    page.wait_for_timeout(300)
    left = page.locator("#read").bounding_box()["height"]
    assert left >= read - 24, (read, left)
    button, undo = page.locator("button[name=label]").first.bounding_box(), page.locator("#said button").bounding_box()
    assert button["y"] + button["height"] <= 640 and undo["x"] + undo["width"] <= 360, (button, undo)
    assert "a reason that goes on" in page.get_attribute("#said b", "title")
    page.close()
    return "15 skips, each with another item after it; a reason of 480 characters takes one line at 360 pixels"


def nothing_jumps(browser, server):
    """The text keeps its place while verdicts are given, the prediction appears and disappears, and verdicts are undone."""
    evaluators = [{"name": f"an evaluator with a long name, number {at}"} for at in range(6)]
    server.ask("PUT", "/v1/queues/still", {"evaluators": evaluators, "undo_seconds": 60})
    worth = lambda number: number % 3 == 0
    sent = [{"id": f"{number}", "payload": {"text": f"Text {number}. " * 200},
             "scores": {one["name"]: worth(number) + (number * (at + 3) % 7) / 7 for at, one in enumerate(evaluators)}} for number in range(80)]
    server.items("still", sent)
    for width in [360, 1440]:
        page = browser.new_page(viewport={"width": width, "height": 800})
        sit(page, server, "still", f"ann {width}")
        page.keyboard.press("c")
        first = until(lambda: current(page))
        place = lambda: page.locator("#read").bounding_box()
        before = place()
        for turn in range(3):
            say(page, "1")
            until(lambda: current(page) not in (None, first))
            first = current(page)
            until(lambda: page.inner_text("#jury"))
            assert place() == before, (width, turn, before, place())
            # The label of the verdict is readable beside its undo button.
            # Read in one call, because an answer in between redraws it.
            said = page.evaluate("() => { const words = document.querySelector('#said b'); return [words.clientWidth, words.scrollWidth]; }")
            assert said[0] > 0 and said[0] == said[1], (width, said)
        page.wait_for_timeout(2500)
        assert page.inner_text("#jury") == "" and place() == before, (before, place())
        page.close()
    return "three verdicts at 360 and 1440 pixels, and nothing has moved"


def long_log(browser, server):
    """The activity page loads at once, even if entries have thousands of items each."""
    server.queue("long")
    for part in range(40):
        server.items("long", [{"id": f"{part}-{number}", "scores": {"toxicity": number / 5000}} for number in range(5000)])
    page = browser.new_page()

    def looked():
        began = time.monotonic()
        page.goto(server.url + "/q/long/activity")
        return time.monotonic() - began

    took = min(looked() for _ in range(3))
    told = page.inner_text("main")
    assert "39-0, 39-1, 39-2 and 4,997 more" in told and "created the queue" in told, told[:300]
    assert took < 1, took
    page.close()
    return f"40 entries of 5,000 items, shown in {1000 * took:.0f} ms"


def swapped_twice(browser, server):
    """In the demo an evaluator gets worse and recovers: both changes are noticed, influence follows, and both stay listed."""
    with Demo(server.binary, server.folder) as demo:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(demo.url + "/q/demo")

        def share(name):
            told = page.locator(f"#evaluators tr:has(td[title='{name}']) b").first.inner_text()
            return float(told.rstrip("%")) if told != "–" else 0.0

        def noticed():
            return sum("LLM judge changed" in told for told in page.locator("#feed .changes li").all_text_contents())

        until(lambda: share("LLM judge") > 25 and share("spam rules") < 20, 90)
        assert noticed() == 0
        for turn, (trusted, other) in enumerate([("spam rules", "LLM judge"), ("LLM judge", "spam rules")]):
            page.click("form.demo button")
            until(lambda: noticed() == turn + 1, 90)
            until(lambda: "LLM judge changed" in page.inner_text("[data-panel=figures]"), 10)
            until(lambda: share(trusted) > 25 and share(other) < 20, 120)
        page.goto(demo.url + "/q/demo/activity")
        assert page.locator(".changes li:has-text('LLM judge changed')").count() == 2
        page.close()
    return "noticed twice, trusted again twice, and both are in the panel and on the activity page"


CASES = [told_beside, not_by_mistake, skipped_on, nothing_jumps, long_log, swapped_twice, lost_lease, undone_in_turn, two_tabs, by_the_clock]
