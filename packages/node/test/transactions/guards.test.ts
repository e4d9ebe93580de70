import {
  DefinitionError,
  Filesystem,
  guardedFor,
  provide,
  provideFactory,
  ProvisoError,
  resourceKey,
  RevokedError,
  type Binding,
  type CallGuard,
  type Resources,
} from "@proviso/core";
import { memoryFilesystem, openResources } from "@proviso/runtime";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { calling, promptOf, toolOf } from "../../../runtime/test/transactions/support.ts";

const Repo = resourceKey<{ save(name: string): unknown }>("Repo");

/** A resource that was made from another one, and what it has saved. */
const injected: Record<string, () => { bindings: readonly Binding[]; saved(): Promise<readonly string[]> }> = {
  "a filesystem, looked up when it is used": () => {
    const files = memoryFilesystem();
    const repo = provideFactory(Repo, (from) => ({ save: (name) => from.get(Filesystem).write(name, "x") }), {
      eager: true,
    });
    return { bindings: [provide(Filesystem, files), repo], saved: () => files.glob("**").then((all) => [...all]) };
  },
  "a filesystem that it keeps": () => {
    const files = memoryFilesystem();
    const repo = provideFactory(Repo, (from) => {
      const mine = from.get(Filesystem);
      return { save: (name) => mine.write(name, "x") };
    });
    return { bindings: [provide(Filesystem, files), repo], saved: () => files.glob("**").then((all) => [...all]) };
  },
  "a database whose statement it keeps": () => {
    const database = new DatabaseSync(":memory:");
    database.exec("CREATE TABLE saved (name TEXT)");
    const repo = provideFactory(
      Repo,
      (from) => {
        const insert = from.get(SqliteDatabase).prepare("INSERT INTO saved VALUES (?)");
        return { save: (name) => insert.run(name) };
      },
      { eager: true },
    );
    const saved = async () =>
      database
        .prepare("SELECT name FROM saved")
        .all()
        .map((row) => String(row["name"]));
    return { bindings: [sqliteResource(database), repo], saved };
  },
};

test.each(Object.keys(injected))("TX-3 a late write through %s raises and changes nothing", async (from) => {
  const environment = fakeEnvironment();
  const { bindings, saved } = (injected[from] as (typeof injected)[string])();
  let late: unknown;
  const tool = toolOf(
    "late",
    async ({ resources }) => {
      const repo = resources.get(Repo);
      await environment.clock.sleep(80);
      try {
        await repo.save("late.txt");
      } catch (error) {
        late = error;
      }
    },
    { timeoutMs: 30 },
  );
  const evaluating = calling(environment, "late").evaluate(promptOf({ tools: [tool] }), { resources: bindings });
  await environment.clock.advance(200);
  const { toolResults } = await evaluating;
  expect(toolResults[0]?.result.success).toBe(false);
  expect(await saved()).toEqual([]);
  expect(late).toBeInstanceOf(ProvisoError);
});

test.each(Object.keys(injected))(
  "TOOL-6 RES-9 a read-only call cannot write through %s, whatever it makes of the error",
  async (from) => {
    const environment = fakeEnvironment();
    const { bindings, saved } = (injected[from] as (typeof injected)[string])();
    const tool = toolOf(
      "look",
      async ({ resources }) => {
        try {
          await resources.get(Repo).save("written.txt");
        } catch {}
        return "fine";
      },
      { readOnly: true },
    );
    const { toolResults } = await calling(environment, "look").evaluate(promptOf({ tools: [tool] }), {
      resources: bindings,
    });
    expect(toolResults[0]?.result.success).toBe(false);
    expect(await saved()).toEqual([]);
  },
);

test.each(Object.keys(injected))(
  "RES-9 a call that may write does, through %s, and is undone when it fails",
  async (from) => {
    for (const fail of [true, false]) {
      const environment = fakeEnvironment();
      const { bindings, saved } = (injected[from] as (typeof injected)[string])();
      const tool = toolOf("save", async ({ resources }) => {
        await resources.get(Repo).save("mine.txt");
        if (fail) throw new Error("it failed");
      });
      await calling(environment, "save").evaluate(promptOf({ tools: [tool] }), { resources: bindings });
      expect(await saved()).toEqual(fail ? [] : ["mine.txt"]);
    }
  },
);

/** A resource of an application's own that guards itself. */
class Box {
  content = "";
  put(content: string): void {
    this.content = content;
  }
  [guardedFor](call: CallGuard): Pick<Box, "content" | "put"> {
    const put = (content: string): void => {
      call.assertLive();
      call.assertMayChange("the box");
      this.put(content);
    };
    return { content: this.content, put };
  }
}
const BoxKey = resourceKey<Pick<Box, "content" | "put">>("Box");

test("RES-9 a resource of one's own refuses late and read-only use like ours do", async () => {
  const environment = fakeEnvironment();
  const box = new Box();
  const errors: unknown[] = [];
  const put = async (ms: number, from: Pick<Box, "put">) => {
    await environment.clock.sleep(ms);
    try {
      from.put("changed");
    } catch (error) {
      errors.push(error);
    }
  };
  const tools = [
    toolOf("late", ({ resources }) => put(80, resources.get(BoxKey)), { timeoutMs: 30 }),
    toolOf("look", ({ resources }) => put(0, resources.get(BoxKey)), { readOnly: true }),
    toolOf("change", ({ resources }) => put(0, resources.get(BoxKey))),
  ];
  const evaluating = calling(environment, "late", "look").evaluate(promptOf({ tools }), {
    resources: [provide(BoxKey, box)],
  });
  await environment.clock.advance(200);
  const { toolResults } = await evaluating;
  expect(toolResults.map(({ result }) => result.success)).toEqual([false, false]);
  expect(toolResults[1]?.result.message).toBe("look is read-only, but tried to change the box.");
  expect(errors.map((error) => (error as object).constructor)).toEqual([DefinitionError, RevokedError]);
  expect(box.content).toBe("");
  const changing = calling(environment, "change").evaluate(promptOf({ tools }), { resources: [provide(BoxKey, box)] });
  await environment.clock.advance(10);
  await changing;
  expect(box.content).toBe("changed");
});

test("RES-9 a filesystem's view refuses in a reading call whatever is not known to read", async () => {
  const environment = fakeEnvironment();
  const renamed: string[] = [];
  const files = Object.assign(memoryFilesystem(), { rename: async (from: string) => void renamed.push(from) });
  const tool = toolOf("look", ({ resources }) => (resources.get(Filesystem) as typeof files).rename("a"), {
    readOnly: true,
  });
  const { toolResults } = await calling(environment, "look").evaluate(promptOf({ tools: [tool] }), {
    resources: [provide(Filesystem, files)],
  });
  expect(toolResults[0]?.result.success).toBe(false);
  expect(renamed).toEqual([]);
});

test("RES-1 of bindings and opened resources in one list, the later of a key counts", async () => {
  const environment = fakeEnvironment();
  const Tenant = resourceKey<string>("Tenant");
  const Region = resourceKey<string>("Region");
  const shared = await openResources([provide(Tenant, "shared"), provide(Region, "eu")]);
  const tell = toolOf("tell", ({ resources }) => [resources.get(Tenant), resources.get(Region)]);
  const told = async (resources: readonly (Binding | Resources)[]) => {
    const { toolResults } = await calling(environment, "tell").evaluate(promptOf({ tools: [tell] }), { resources });
    const [invoked] = toolResults;
    return invoked?.result.success === true ? invoked.result.value : undefined;
  };
  expect(await told([shared, provide(Tenant, "ada")])).toEqual(["ada", "eu"]);
  expect(await told([provide(Tenant, "ada"), shared])).toEqual(["shared", "eu"]);
  const other = await openResources([provide(Region, "us")]);
  expect(await told([shared, other])).toEqual(["shared", "us"]);
  expect(await told([other, shared])).toEqual(["shared", "eu"]);
});
