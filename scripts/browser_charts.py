"""Cases of `scripts/browser-test` for an operations lead: palette, crosshair, time ranges and panels."""
import re
import time
import urllib.parse

from browser_desk import at_desk, current, items, sit, until


def at_work(server, name, seconds=4):
    """A queue with some seconds of work, and the page's panels after that."""
    server.queue(name, random_check_rate=0.2, undo_seconds=0, random_check_share=0.5)
    made = items(240)
    server.items(name, made)
    worth = {item["id"]: "fine" if int(item["id"].split("-")[1]) % 3 else "harmful" for item in made}
    end = time.time() + seconds
    turn = 0
    while time.time() < end or turn < 6:
        claims = server.ask("POST", f"/v1/queues/{name}/claims", {"reviewer": "ann", "k": 12})["claims"]
        given = [{"id": claim["item"], "item": claim["item"], "reviewer": "ann", "token": claim["token"], "label": worth[claim["item"]]} for claim in claims]
        server.ask("POST", f"/v1/queues/{name}/verdicts", {"verdicts": given})
        turn += 1
        time.sleep(max(0.3, seconds / 12))


def palette(browser, server):
    """The palette by keys alone: to a desk, an evaluator, a mute page and an item; the focus returns afterwards."""
    server.queue("letters")
    server.queue("other")
    server.queue("left-over_2")
    server.items("letters", items(6))
    page = browser.new_page()
    page.goto(server.url + "/q/letters")
    press = page.keyboard.press
    chosen = lambda: page.inner_text("#palette [aria-selected=true]").split("\n")
    page.focus(".top nav a:text-is('Activity')")
    press("Control+k")
    until(lambda: page.locator("#palette li").count() > 3)
    assert page.evaluate("document.activeElement.getAttribute('role')") == "combobox"
    first = page.get_attribute("#palette input", "aria-activedescendant")
    press("ArrowDown")
    second = page.get_attribute("#palette input", "aria-activedescendant")
    assert first != second and page.get_attribute(f"#{second}", "aria-selected") == "true"
    press("ArrowUp")
    press("ArrowUp")
    assert page.get_attribute("#palette input", "aria-activedescendant") not in (first, second), "it goes round"
    press("Escape")
    assert page.is_hidden("#palette") and page.evaluate("document.activeElement.textContent") == "Activity"

    def to(letters, words):
        press("/")
        until(lambda: page.locator("#palette li").count() > 3)
        page.keyboard.type(letters)
        until(lambda: page.locator("#palette li").count() and all(word in " ".join(chosen()) for word in words))
        press("Enter")

    to("spam", ["spam", "evaluator of letters"])
    until(lambda: page.url.endswith("/q/letters#evaluator-1"))
    # A link to a folded panel opens it.
    to("latest", ["Latest activity"])
    until(lambda: page.is_visible("#feed"))
    to("mute qual", ["Mute quality"])
    page.wait_for_url("**/mute?evaluator=quality")
    assert "of the top" in page.inner_text("main")
    press("/")
    page.keyboard.type("post-3")
    until(lambda: "Item post-3" in page.inner_text("#palette ul"))
    press("Enter")
    page.wait_for_url("**/q/letters/items/post-3")
    # Special characters in names and in the typed text have no effect.
    to("left-over_ activity", ["Activity", "left-over_2"])
    page.wait_for_url("**/q/left-over_2/activity")
    to("other desk", ["Desk", "other"])
    page.wait_for_url("**/q/other/desk")
    # On the desk too; typing there neither judges nor skips.
    sit(page, server, "letters", "ann")
    press("c")
    before = until(lambda: current(page))
    press("/")
    until(lambda: page.is_visible("#palette"))
    page.keyboard.type("1s2u")
    press("Escape")
    page.wait_for_timeout(400)
    assert current(page) == before and not server.verdicts("letters") and page.is_hidden("#skipping")
    page.close()
    # Keys typed before the field appears are not lost, and none of them judges.
    slow, held = browser.new_page(), []
    slow.route("**/palette*", lambda route: held.append(route))
    sit(slow, server, "letters", "bea")
    slow.keyboard.press("c")
    before = until(lambda: current(slow))
    for key in ["/", "1", "s", "x", "Backspace", "2"]:
        slow.keyboard.press(key)
    slow.wait_for_timeout(400)
    assert held and not slow.locator("#palette").count()
    for route in held:
        route.continue_()
    until(lambda: slow.locator("#palette input").count() and slow.input_value("#palette input") == "1s2")
    assert current(slow) == before and not server.verdicts("letters") and slow.is_hidden("#skipping")
    slow.close()
    # Without scripts the same list is a page.
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(server.url + "/q/letters")
    plain.click("a.go")
    plain.click("main a:has-text('Mute spam')")
    assert "Mute spam?" in plain.inner_text("main")
    return "to a desk, a panel, an evaluator, an item and a mute by keys; the focus comes back; a list without scripts"


def crosshair(browser, server):
    """The crosshair shows all values of a moment in all charts, by pointer and arrow keys, and survives updates of panels."""
    at_work(server, "cross")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(server.url + "/q/cross")
    chart = page.locator("#found .plot")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    tip = until(lambda: page.locator(".tip").count() and page.inner_text(".tip"))
    lines = set(page.locator("#found .wide text").all_text_contents()) & {"harmful found", "plain average", "random order"}
    assert "harmful found" in lines and all(line in tip for line in lines), (lines, tip)
    assert re.search(r"\d\d:\d\d:\d\d", tip) and "items reviewed" in tip, tip
    assert page.locator("#found .cross circle").count() >= len(lines)
    # Further right is later, with a larger sum.
    number = lambda: float(re.search(r"items reviewed ([\d.]+)", page.inner_text(".tip")).group(1))
    early = number()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until(lambda: number() > early)
    # An update of the panel keeps the crosshair.
    server.items("cross", items(241)[240:])
    until(lambda: "no change" not in page.inner_text("#fresh"))
    page.wait_for_timeout(2500)
    assert page.locator(".tip").count() == 1
    page.mouse.move(5, 5)
    until(lambda: page.locator(".tip, .cross").count() == 0)
    page.focus("#found .plot")
    page.keyboard.press("End")
    last = number()
    page.keyboard.press("ArrowLeft")
    assert number() < last
    # An update keeps a crosshair moved by keys too, and a selection in progress.
    page.keyboard.press("Shift+ArrowLeft")
    chosen = number()
    page.evaluate("document.querySelector('#found .plot').dataset.before = ''")
    server.items("cross", items(242)[241:])
    until(lambda: not page.evaluate("'before' in document.querySelector('#found .plot').dataset"))
    page.wait_for_timeout(100)
    assert number() == chosen and page.locator("#found .brush").count() == 1
    page.keyboard.press("Shift+ArrowLeft")
    assert number() < chosen and page.locator("#found .brush").count() == 1
    # Moving the focus away hides the crosshair.
    page.keyboard.press("Tab")
    until(lambda: page.locator(".tip, .brush").count() == 0)
    page.focus("#found .plot")
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    assert page.locator(".tip").count() == 0
    page.close()
    # On a touch screen, a tap shows the crosshair.
    phone = browser.new_context(viewport={"width": 360, "height": 800}, has_touch=True).new_page()
    phone.goto(server.url + "/q/cross")
    box = phone.locator("#found .plot").bounding_box()
    phone.touchscreen.tap(box["x"] + 120, box["y"] + 80)
    told = until(lambda: phone.locator(".tip").count() and phone.locator(".tip").bounding_box())
    assert told["x"] >= 0 and told["x"] + told["width"] <= 360, told
    phone.close()
    return f"{', '.join(sorted(lines))} at one moment, by pointer, keys and touch"


def ranges(browser, server):
    """A time range: by dragging across a chart, by keys, by links and in the URL; without scripts too."""
    at_work(server, "ranged", 6)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(server.url + "/q/ranged")
    picked = lambda: float(page.locator("#found .wide [data-x]").last.evaluate("strip => strip.dataset.x && document.querySelector('#found .plot').strips.at(-1).head.match(/[\\d.]+$/)[0]"))
    page.click("[data-panel=delay] summary")
    page.hover("#found .plot")
    all_of_them = until(picked)
    box = page.locator("#found .plot").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    assert page.locator("#found .brush").count() == 1
    page.mouse.up()
    until(lambda: "from=" in page.url and "to=" in page.url)
    asked = urllib.parse.parse_qs(urllib.parse.urlparse(page.url).query)
    assert asked["from"][0].endswith("Z") and asked["from"] < asked["to"], asked
    until(lambda: page.locator(".ranges .own").count() == 1)
    # A range of some seconds within a minute shows seconds.
    ends = page.locator(".ranges .own time").all_inner_texts()
    assert all(re.search(r"\d\d:\d\d:\d\d$", end) for end in ends) and len(set(ends)) == len(ends), ends
    page.mouse.move(5, 5)
    page.hover("#found .plot")
    some = until(lambda: page.locator(".tip").count() and picked())
    assert 0 < some < all_of_them, (some, all_of_them)
    assert page.is_visible("#delay"), "what was open is open still"
    # Back by the browser's button, and by a link.
    page.go_back()
    until(lambda: page.locator(".ranges .own").count() == 0)
    page.click(".ranges a:text-is('24 h')")
    until(lambda: "range=day" in page.url)
    until(lambda: page.get_attribute(".ranges a:text-is('24 h')", "aria-current") == "true")
    # By keys: two steps to the left with Shift.
    page.focus("#found .plot")
    page.keyboard.press("End")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    until(lambda: "from=" in page.url and "range=" not in page.url)
    address = page.url
    page.close()
    plain = browser.new_context(java_script_enabled=False).new_page()
    plain.goto(address)
    assert plain.locator(".ranges .own").count() == 1 and "UTC" in plain.inner_text(".ranges")
    plain.click(".ranges a:text-is('7 days')")
    assert "range=week" in plain.url and plain.locator("#found svg").count() > 0
    answer = plain.goto(server.url + "/q/ranged?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z")
    assert answer.status == 422 and "before" in plain.inner_text("main")
    plain.goto(server.url + "/q/ranged?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
    assert "Nothing happened in this time range" in plain.inner_text("#found")
    return f"{some:.0f} of {all_of_them:.0f} picks drawn out, taken back, by keys and by links, in the address, without scripts"


def one_screen(browser, server):
    """The most important panels are in sight without scrolling, the others folded; a new queue has one line per panel."""
    server.queue("newborn")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(server.url + "/q/newborn")
    tall = page.evaluate("document.documentElement.scrollHeight")
    assert tall <= 900, tall
    for panel in page.locator(".later").all():
        assert panel.bounding_box()["height"] <= 90, panel.inner_text()
    at_work(server, "screen", 4)
    page.goto(server.url + "/q/screen")
    bottom = page.locator("[data-panel=trust]").bounding_box()
    assert bottom["y"] + bottom["height"] <= 900, bottom
    # A link to a folded panel opens it.
    page.click(".figures a[href$='#delay']")
    until(lambda: page.is_visible("#delay"))
    assert page.locator(".rows details[open]").count() == 1
    page.close()
    return f"a new queue is {tall} pixels tall; found and trust are in sight, the others a line each"


CASES = [palette, crosshair, ranges, one_screen]
