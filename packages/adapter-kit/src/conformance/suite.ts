import { DefinitionError } from "@proviso/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { answerCases } from "./cases/answers.ts";
import { contextCases } from "./cases/contexts.ts";
import { continuingCases } from "./cases/continuing.ts";
import { failureCases } from "./cases/failures.ts";
import { fileCases } from "./cases/files.ts";
import { journalCases } from "./cases/journals.ts";
import { limitCases } from "./cases/limits.ts";
import { requestCases } from "./cases/requests.ts";
import { scalingCases } from "./cases/scaling.ts";
import { samenessCases } from "./cases/sameness.ts";
import { settingCases } from "./cases/settings.ts";
import { streamingCases } from "./cases/streaming.ts";
import { trafficCases } from "./cases/traffic.ts";
import { benchOf, type ConformanceCase } from "./kit.ts";
import type { ConformanceOptions } from "./script.ts";

/** All cases, in the order in which they are shown. */
export const cases: readonly ConformanceCase[] = [
  ...requestCases,
  ...trafficCases,
  ...answerCases,
  ...failureCases,
  ...limitCases,
  ...continuingCases,
  ...contextCases,
  ...streamingCases,
  ...settingCases,
  ...fileCases,
  ...scalingCases,
  ...journalCases,
  ...samenessCases,
];

const allWays = ["evaluate", "stream"] as const;

/**
 * Runs an adapter through every case, over the wire that `start` opens, with `evaluate` and with `stream`. What it
 * cannot do is declared, and shown as skipped.
 * @throws {DefinitionError} for a skip that names no case, or has no reason, and for ways that are none.
 */
export function describeAdapter(name: string, options: ConformanceOptions): void {
  for (const { rule, why } of options.skip ?? []) {
    if (!cases.some((one) => names(rule, one)))
      throw new DefinitionError(`The skip "${rule}" names no case of the suite.`);
    if (why.trim() === "") throw new DefinitionError(`The skip "${rule}" has no reason: say why.`);
  }
  const ways = options.ways ?? allWays;
  if (ways.length === 0 || ways.some((way) => !allWays.includes(way)))
    throw new DefinitionError('`ways` must be a list of "evaluate" and "stream".');
  describe(`${name} keeps the rules`, () => {
    watchRejections();
    for (const way of ways) {
      describe(way, () => {
        for (const one of cases.filter((other) => (other.way ?? way) === way)) {
          const skipped = options.skip?.find(({ rule }) => names(rule, one));
          if (skipped !== undefined) test.skip(`${one.title} (${skipped.why})`, () => {});
          else test(one.title, { timeout: 60_000 }, ({ skip }) => one.run(benchOf(options, way, skip)));
        }
      });
    }
  });
}

/** Whether a rule names a case: by its id, by its title, or by the beginning of its title. */
function names(rule: string, { title }: ConformanceCase): boolean {
  if (!/^[A-Z]+-\d+$/.test(rule)) return rule.trim() !== "" && title.startsWith(rule);
  return title.split(" ").includes(rule);
}

interface Emitter {
  on(event: "unhandledRejection", listener: (reason: unknown) => void): unknown;
  off(event: "unhandledRejection", listener: (reason: unknown) => void): unknown;
}

/** SEC-3: none in all the cases. */
function watchRejections(): void {
  const host = (globalThis as { readonly process?: Emitter }).process;
  const rejections: unknown[] = [];
  const collect = (reason: unknown): void => void rejections.push(reason);
  beforeAll(() => void host?.on("unhandledRejection", collect));
  afterAll(() => {
    host?.off("unhandledRejection", collect);
    expect(rejections, "SEC-3 no unhandled rejection").toEqual([]);
  });
}
