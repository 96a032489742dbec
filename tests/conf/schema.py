#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""The JSON Schema is whole and agrees with the parser; the examples that ship are good."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

SRC = os.environ.get("top_srcdir", ".")
TELL = os.path.join(os.environ.get("top_builddir", "."), "tests/lib/conf_tell")
# What a configuration is made with, or the memory that it lies in.
# The process and the spec of an actor have their own way there: share() in keep/pack_conf.c.
NOT_PACKED = ["conf_report", "conf_options", "conf_addition", "conf.memory", "conf.found",
              "conf_actor.process", "conf_actor.spec"]


def tell(*args):
    return subprocess.run([TELL, *args], check=False, text=True, encoding="utf-8",
                          stdout=subprocess.PIPE)


def schema():
    return json.loads(tell("--schema").stdout)


def nodes(top):
    """Every object of a JSON document."""
    todo = [top]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            yield item
            todo += item.values()
        elif isinstance(item, list):
            todo += item


def references():
    whole = schema()
    known = {f"#/$defs/{name}" for name in whole["$defs"]}
    used = {node["$ref"] for node in nodes(whole) if isinstance(node.get("$ref"), str)}
    return [f"{ref} leads nowhere" for ref in used - known] + \
        [f"{ref} is not used" for ref in known - used]


def forms_of(definition):
    """The kinds of values that a definition takes: a scalar also takes ${name}, other kinds stand
    by themselves."""
    definition = definition.get("else", definition)
    return definition.get("anyOf", [definition])


def properties():
    """(definition, key, property) of every key."""
    for name, definition in schema()["$defs"].items():
        for form in forms_of(definition):
            for key, value in form.get("properties", {}).items():
                yield name, key, value


def descriptions():
    found = [f"{name}.{key}" for name, key, value in properties()
             if not value.get("description")]
    return [f"{key} has no description" for key in found] + \
        ([] if len(list(properties())) > 80 else ["too few keys"])


def patterns():
    """Patterns are plain enough for every engine, and the defaults match them."""
    faults = []
    definitions = schema()["$defs"]
    for node in nodes(definitions):
        if isinstance(node.get("pattern"), str):
            re.compile(node["pattern"])
    for name, key, value in properties():
        default = value.get("default")
        if not isinstance(default, str):
            continue
        forms = forms_of(definitions[value["$ref"].rpartition("/")[2]])
        if not any(default in form.get("enum", []) or "string" in form.get("type", []) and
                   re.search(form.get("pattern", ""), default) for form in forms):
            faults.append(f"the default of {name}.{key}, {default!r}, is not allowed")
    return faults


def one_kind():
    """Alternatives stand only where values are of several kinds: a scalar, a list, a mapping."""
    faults = []
    for node in nodes(schema()):
        kinds = [form.get("type", "scalar") if form.get("type") in ("object", "array") else "scalar"
                 for form in node.get("anyOf", [])]
        if len(kinds) != len(set(kinds)):
            faults.append(f"{kinds} of {node.get('title')}")
        if "scalar" in kinds and not all("errorMessage" in form for form in node["anyOf"]
                                         if form.get("type") not in ("object", "array")):
            faults.append(f"no errorMessage of {node.get('title')}")
    return faults


def load(text, directory):
    path = os.path.join(directory, "a.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return tell(path)


def defaults_are_values():
    """What the table calls a default is taken by the parser, and changes nothing."""
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        plain = load("children: {a: {command: [/bin/true]}}\n", directory).stdout
        for name, key, value in properties():
            if name != "actor" or "default" not in value or \
                    f"\n\t{key}: " not in plain.partition("/user/a")[2]:
                continue
            written = load("children: {a: {command: [/bin/true], "
                           f"{key}: {json.dumps(value['default'])}}}}}\n", directory).stdout
            if written != plain:
                faults.append(f"{key}: {value['default']!r} gives {written}")
    return faults


def examples():
    """The configuration that is installed, with and without its comment signs."""
    with open(os.path.join(SRC, "etc/supd.yaml"), encoding="utf-8") as file:
        shipped = file.read()
    keys = [line[2:] for line in shipped.splitlines()
            if re.match(r"# ( *[a-z]+:| *- \{| *- default)", line)]
    keys = [re.sub(r"adm|supd$|www-data", "root", line) for line in keys]
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        for what, text in (("as it is", shipped), ("uncommented", "\n".join(keys) + "\n")):
            result = load(text, directory)
            if result.returncode != 0 or "error:" in result.stdout:
                faults.append(f"{what}: {result.stdout}")
        if "/user/crawl@4" not in result.stdout:
            faults.append(f"not all of it was read: {result.stdout}")
    return faults


ACTOR = {"command": ["/bin/true"]}
GOOD = [
    {"children": {}}, {"children": {"a": ACTOR}},
    {"children": {"a": {**ACTOR, "shutdown": "10s", "ready": {"tcp": "127.0.0.1:80"}}}},
    {"children": {"g": {"strategy": "rest_for_one", "children": {"a": ACTOR}}}},
    {"children": {"a": {**ACTOR, "limits": {"nofile": 1024}, "restart": "transient"}}},
    {"decider": [{"when": {"exit": [75]}, "then": "resume"}, "default"], "children": {}},
    {"templates": {"t": ACTOR}, "children": {"a": {"use": "t", "replicas": 2}}},
    {"decider": [{"when": {"signal": [word.name for word in signal.Signals
                                         if not word.name.startswith(("SIGRT", "SIGIO"))]},
                  "then": "stop"}], "children": {"a": {**ACTOR, "stop_signal": 15, "watchdog_signal": "USR2"}}},
]
# Each with a word of what is to be pointed at, by the path or the message of the error.
BAD = [
    ({"childern": {}}, "childern"), ({"children": []}, "children"),
    ({"children": {"a": {**ACTOR, "comand": "x"}}}, "comand"),
    ({"children": {"a": {**ACTOR, "restart": "always"}}}, "restart"),
    ({"children": {"a": {**ACTOR, "shutdown": 10}}}, "shutdown"),
    ({"children": {"a": {**ACTOR, "limits": {"nofiles": 1}}}}, "nofiles"),
    ({"children": {"a b": ACTOR}}, "a b"),
    ({"strategy": "all_for_one", "children": {}}, "strategy"),
    ({"children": {"a": {**ACTOR, "replicas": "many"}}}, "replicas"),
    ({"children": {"a": {**ACTOR, "backoff": {"min": "fast"}}}}, "min"),
    ({"children": {"a": {**ACTOR, "ready": {"tpc": "127.0.0.1:80"}}}}, "tpc"),
    ({"children": {"a": {**ACTOR, "output": "console"}}}, "output"),
    ({"children": {"a": {**ACTOR, "stop_signal": "TREM"}}}, "stop_signal"),
    ({"log": {"level": "verbose"}, "children": {}}, "level"),
]
VALIDATE = """
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
schema, files = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(schema)
for file in files:
    best = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(file))
    print(json.dumps(best and [list(best.absolute_path), best.message]))
"""


def corpus():
    """A validator that is not ours agrees with the parser, and points at what is wrong."""
    files = GOOD + [file for file, _ in BAD]
    # The packages of the system are those of its own Python.
    done = subprocess.run(["/usr/bin/python3", "-c", VALIDATE], check=False, text=True,
                          input=json.dumps([schema(), files]), capture_output=True)
    if done.returncode == 77:
        print("# python3-jsonschema is not installed")
        return []
    if done.returncode != 0:
        return [done.stderr]
    said = [json.loads(line) for line in done.stdout.splitlines()]
    faults = [f"{file}: {error}" for file, error in zip(GOOD, said) if error is not None]
    for (file, word), error in zip(BAD, said[len(GOOD):]):
        if error is None or word not in str(error):
            faults.append(f"{file}: {error} does not tell of {word}")
    with tempfile.TemporaryDirectory() as directory:
        for file in GOOD + [file for file, _ in BAD]:
            is_good = load(json.dumps(file), directory).returncode == 0
            if is_good != (file in GOOD):
                faults.append(f"{file}: the parser says {'good' if is_good else 'bad'}")
    return faults


def manual_example():
    with open(os.path.join(SRC, "man/supd.yaml.5"), encoding="utf-8") as file:
        page = file.read()
    text = page.partition(".Sh EXAMPLES")[2].partition(".Bd -literal -offset indent\n")[2]
    text = text.partition(".Ed")[0]
    with tempfile.TemporaryDirectory() as directory:
        result = load(text, directory)
    return [] if result.returncode == 0 and "/user/crawl@4" in result.stdout \
        else [result.stdout]


def manual_keys():
    """Each key has an item of its own in the manual, but for the names in lists."""
    with open(os.path.join(SRC, "man/supd.yaml.5"), encoding="utf-8") as file:
        page = file.read()
    items = {word for line in re.findall(r"^\.It Cm (.*)$", page, re.M)
             for word in re.findall(r"[a-z_]+", line.partition(" : ")[0])}
    words = set(re.findall(r"[a-z_]+", page))
    faults = [f"{key} is not in supd.yaml(5)" for name, key, _ in properties()
              if key not in (words if name in ("limits", "rule_backoff") else items)]
    return sorted(set(faults))


def packed():
    """Each pointer of a configuration is in the table of what the next guardian gets."""
    texts = {}
    for path in ("text/conf.h", "text/conf_process.h", "keep/packed.c"):
        with open(os.path.join(SRC, "src/conf", path), encoding="utf-8") as file:
            texts[path] = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    words = set(re.findall(r"\w+", texts.pop("keep/packed.c")))
    structs = [found for text in texts.values()
               for found in re.findall(r"^struct (\w+) \{(.*?)^\}", text, re.S | re.M)]
    faults = [f"{name}.{member} is not in packed.c" for name, members in structs
              if name not in NOT_PACKED
              for member in re.findall(r"\*(\w+)(?:\[\w+\])?;", members)
              if member not in words and f"{name}.{member}" not in NOT_PACKED]
    return faults if len(structs) >= 20 else ["too few structs were found"]


def main():
    tests = [
        ("every reference of the schema leads to a definition", references),
        ("every key has a description", descriptions),
        ("patterns are regular expressions, and defaults match them", patterns),
        ("one kind of values has no alternatives, and a message of its own", one_kind),
        ("python3-jsonschema agrees with the parser, and points at what is wrong", corpus),
        ("a default that is written changes nothing", defaults_are_values),
        ("etc/supd.yaml is good, also without its comment signs", examples),
        ("the example of supd.yaml(5) is good", manual_example),
        ("every key has its item in supd.yaml(5)", manual_keys),
        ("every pointer of a configuration is packed for the next guardian", packed),
    ]
    print(f"1..{len(tests)}")
    for number, (title, run) in enumerate(tests, 1):
        faults = run()
        print(f"{'not ' if faults else ''}ok {number} - {title}")
        for fault in faults:
            print("\n".join(f"# {line}" for line in fault.splitlines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
