import { defineTool, provide, provideFactory, resourceKey, type Snapshotable } from "@proviso/core";
import { committedWith } from "@proviso/runtime/internal";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { calling, promptOf, rejectionOf, toolOf } from "./support.ts";

/** Writes down what is asked of it. */
class Watched implements Snapshotable<number> {
  readonly #name: string;
  readonly #happened: string[];
  readonly #isBroken: boolean;
  constructor(name: string, happened: string[], isBroken = false) {
    this.#name = name;
    this.#happened = happened;
    this.#isBroken = isBroken;
  }
  snapshot(): number {
    this.#happened.push(`snapshot ${this.#name}`);
    return 0;
  }
  restore(): void {
    this.#happened.push(`restore ${this.#name}`);
    if (this.#isBroken) throw new Error("disk gone");
  }
  release(): void {
    this.#happened.push(`release ${this.#name}`);
  }
}

const keys = ["a", "b", "c"].map((name) => resourceKey<Watched>(name));

test.each([false, true])(
  "TX-14 snapshots are restored and released in the reverse order of their taking (fails: %o)",
  async (fails) => {
    const happened: string[] = [];
    const resources = keys.map((key) => provide(key, new Watched(key.name, happened)));
    const use = defineTool({
      name: "use",
      description: "Uses them.",
      input: z.object({}),
      uses: keys,
      execute() {
        if (fails) throw new Error("it failed");
      },
    });
    await calling(fakeEnvironment(), "use").evaluate(promptOf({ tools: [use] }), { resources });
    const taken = happened.splice(0, keys.length).map((each) => each.replace("snapshot ", ""));
    expect(taken.toSorted()).toEqual(["a", "b", "c"]);
    const back = taken.toReversed();
    expect(happened).toEqual([
      ...(fails ? back.map((name) => `restore ${name}`) : []),
      ...back.map((name) => `release ${name}`),
    ]);
  },
);

test("TX-14 what is committed with the record is released before all others, whenever its snapshot was taken", async () => {
  const happened: string[] = [];
  const inFile = Object.assign(new Watched("a", happened), {
    [committedWith]: { file: {}, isOpen: () => false },
  });
  const resources = keys.map((key) => provide(key, key.name === "a" ? inFile : new Watched(key.name, happened)));
  const use = defineTool({ name: "use", description: "Uses them.", input: z.object({}), uses: keys, execute() {} });
  await calling(fakeEnvironment(), "use").evaluate(promptOf({ tools: [use] }), { resources });
  const [snapshots, releases] = [happened.slice(0, 3), happened.slice(3)];
  // It was not the last, which would come first anyway.
  expect(snapshots.at(-1)).not.toBe("snapshot a");
  expect(releases[0]).toBe("release a");
  expect(releases).toHaveLength(3);
});

test.each(["made in the call", "bound ready"])(
  "TX-13 a resource that is %s and could not be restored is not released: it may be restored at its next start",
  async (how) => {
    const happened: string[] = [];
    const [key = resourceKey<Watched>("a")] = keys;
    const make = (): Watched => new Watched("a", happened, true);
    const resources = [
      how === "bound ready"
        ? provide(key, make())
        : provideFactory(key, make, { close: () => void happened.push("close a") }),
    ];
    const fail = toolOf("fail", (context) => {
      context.resources.get(key);
      throw new Error("it failed");
    });
    const error = await rejectionOf(
      calling(fakeEnvironment(), "fail").evaluate(promptOf({ tools: [fail] }), { resources }),
    );
    expect(error).toMatchObject({ code: "restore" });
    const closed = how === "bound ready" ? [] : ["close a"];
    expect(happened).toEqual(["snapshot a", "restore a", "restore a", ...closed]);
  },
);
