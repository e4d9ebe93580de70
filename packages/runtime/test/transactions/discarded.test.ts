import { deadlineIn, provideFactory, resourceKey, type ResourceScope, type Tool } from "@proviso/core";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, promptOf, toolOf, type Environment } from "./support.ts";

/** A connection, whose transactions take a while to begin. */
class Connection {
  readonly log: string[] = [];
  readonly #environment: Environment;
  constructor(environment: Environment) {
    this.#environment = environment;
  }
  async #does(what: string, ms: number): Promise<void> {
    this.log.push(what);
    if (this.log.includes("closed")) throw new Error("the connection is closed");
    await this.#environment.clock.sleep(ms);
  }
  async snapshot(): Promise<number> {
    await this.#does("begin", 60);
    return 1;
  }
  async restore(): Promise<void> {
    await this.#does("roll back", 1);
  }
  async release(): Promise<void> {
    await this.#does("commit", 1);
  }
}
const ConnectionKey = resourceKey<Connection>("Connection");

type Stop = "timeoutMs" | "signal" | "deadline";
const scopes: readonly ResourceScope[] = ["toolCall", "prototype", "singleton"];
const stops: readonly Stop[] = ["timeoutMs", "signal", "deadline"];
const cases = scopes.flatMap((scope) =>
  stops.flatMap((stop) =>
    [2, 3, 4].flatMap((depth) => [true, false].map((fails) => ({ scope, stop, depth, fails, atOnce: depth === 3 }))),
  ),
);

/** What ends the evaluation of the innermost call after 20 ms, or that call itself. */
function limitOf(environment: Environment, stop: Stop) {
  const { clock } = environment;
  if (stop === "deadline") return { deadline: deadlineIn(20, clock) };
  const controller = new AbortController();
  if (stop === "signal") void clock.sleep(20).then(() => controller.abort());
  return { signal: controller.signal };
}

test.each(cases)(
  "TX-4 what the innermost of $depth calls made is closed for good: $scope, stopped by $stop, the call around it fails: $fails",
  async ({ scope, stop, depth, fails, atOnce }) => {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const made: Connection[] = [];
    const create = () => {
      const connection = new Connection(environment);
      made.push(connection);
      return connection;
    };
    const slowly = async () => {
      await clock.sleep(1);
      return create();
    };
    const binding = provideFactory(ConnectionKey, atOnce ? create : slowly, {
      scope,
      close: ({ log }) => void log.push("closed"),
    });
    let tool: Tool = toolOf(
      "query",
      async ({ resources }) => void (await resources.open(ConnectionKey)),
      stop === "timeoutMs" ? { timeoutMs: 20 } : {},
    );
    let innermost: unknown;
    for (let left = depth - 1; left > 0; left--) {
      const inner = tool;
      const isMiddle = left === depth - 1;
      tool = toolOf(`call${left}`, async ({ evaluate }) => {
        const evaluating = evaluate(promptOf({ tools: [inner] }), {
          adapter: calling(environment, inner.name),
          ...(isMiddle && stop !== "timeoutMs" ? limitOf(environment, stop) : {}),
        });
        const outcome = await evaluating.catch((error: unknown) => error as Error & { code: string });
        if (!isMiddle) return;
        innermost = "code" in outcome ? outcome.code : outcome.toolResults[0]?.result.message;
        await clock.sleep(150);
        if (fails) throw new Error("an ordinary failure");
      });
    }
    const evaluating = calling(environment, tool.name).evaluate(promptOf({ tools: [tool] }), {
      resources: [binding],
    });
    await clock.advance(5_000);
    // With a RestoreError it would reject.
    expect((await evaluating).toolResults.map(({ result }) => result.success)).toEqual([!fails || depth > 2]);
    expect(innermost).toBe(
      { timeoutMs: "query took longer than 20 ms and was stopped.", signal: "aborted", deadline: "deadline" }[stop],
    );
    expect(made).toHaveLength(1);
    for (const { log } of made) {
      expect(log.at(-1)).toBe("closed");
      expect(log.filter((each) => each === "commit")).toHaveLength(log.filter((each) => each === "begin").length);
    }
  },
);

test("TX-4 who asks while what was discarded is not closed yet gets another one", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const made: Connection[] = [];
  const create = () => {
    const connection = new Connection(environment);
    made.push(connection);
    return connection;
  };
  const binding = provideFactory(ConnectionKey, create, { close: ({ log }) => void log.push("closed") });
  const query = toolOf("query", async ({ resources }) => void (await resources.open(ConnectionKey)), { timeoutMs: 20 });
  const middle = toolOf("middle", async ({ evaluate, resources }) => {
    void evaluate(promptOf({ tools: [query] }), { adapter: calling(environment, "query") });
    await clock.sleep(30);
    const connection = await resources.open(ConnectionKey);
    expect(connection.log).not.toContain("closed");
    await clock.sleep(200);
    expect(connection.log).not.toContain("closed");
    throw new Error("an ordinary failure");
  });
  const outer = toolOf("outer", async ({ evaluate }) => {
    await evaluate(promptOf({ tools: [middle] }), { adapter: calling(environment, "middle") });
  });
  const evaluating = calling(environment, "outer").evaluate(promptOf({ tools: [outer] }), { resources: [binding] });
  await clock.advance(5_000);
  expect((await evaluating).toolResults.map(({ result }) => result.message)).toEqual([""]);
  expect(made.map(({ log }) => log.slice(log.indexOf("closed")))).toEqual([["closed"], ["closed"]]);
});
