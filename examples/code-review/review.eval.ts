// The demo's own prompt as an eval: how many of the faults that were put into small folders does a reviewer find?
import { Filesystem, provide, type ProviderAdapter } from "@proviso/core";
import { calls, defineEval, type Eval } from "@proviso/evals";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { folders } from "./labelled.ts";
import { notes, review } from "./review-prompt.ts";

/** A finding is about a fault that is at most so many lines away. */
const near = 1;

interface Place {
  readonly path: string;
  readonly line: number;
}
const isNear = (one: Place) => (other: Place) => one.path === other.path && Math.abs(one.line - other.line) <= near;

/** Makes the eval for a reviewer. A run of it twice says how much a real one varies. */
export function reviewEval(adapter: ProviderAdapter): Eval {
  return defineEval({
    name: "code-review",
    data: folders,
    prompt: ({ id }) => review.bind({ request: `Review the code in ${id.replaceAll(/\W/g, "-")}.` }),
    adapter,
    session: () => createSession({ slices: [notes] }),
    resources: ({ files }) => [provide(Filesystem, memoryFilesystem(files))],
    timeoutMs: 120_000,
    scorers: {
      // The share of the faults that a finding is about.
      found: {
        appliesTo: ({ faults }) => faults.length > 0,
        score: ({ row: { faults }, output: { issues } }) => {
          const missed = faults.filter((fault) => !issues.some(isNear(fault)));
          const reason = missed.map(({ path, line, what }) => `missed ${path}:${line}: ${what}`).join("; ");
          return { value: 1 - missed.length / faults.length, reason };
        },
      },
      // Whether nothing is called grave that is none of them.
      precise: ({ row: { faults }, output: { issues } }) => {
        const wrong = issues.filter((issue) => issue.severity !== "low" && !faults.some(isNear(issue)));
        const reason = wrong.map(({ path, line, message }) => `${path}:${line}: ${message}`).join("; ");
        return { value: wrong.length === 0, reason };
      },
      // Each finding is in a file that was read.
      looked: (attempt) =>
        calls(
          attempt,
          Object.keys(attempt.row.files).map((path) => ({ tool: "read_file", input: { path } })),
          "includes",
        ),
      // No note is left of a call that failed.
      honest: ({ row: { files }, session }) => session.get(notes).every(({ path }) => Object.hasOwn(files, path)),
    },
    gates: { honest: { atLeast: 0.6 }, looked: { atLeast: 0.5 } },
  });
}
