import { DefinitionError, type FrameworkEvent, type SessionEvent, type Tool, type ToolInvoked } from "@proviso/core";
import { isFrameworkEventType, StandingWork, type Work } from "@proviso/core/internal";
import type { Attempt, Score } from "../definition.ts";
import { holds } from "./values.ts";

/** A call that is expected: a tool or its name, or a tool and what its input has at least. */
export type ExpectedCall =
  | string
  | Tool
  | {
      /** The tool, or its name. */
      readonly tool: string | Tool;
      /** What the call's input has at least, at every depth; lists have to be of one length. Left out: any input. */
      readonly input?: object | undefined;
    };

/**
 * Every call of the attempt in the order of its end, those that failed and were undone too: `result` says what became of
 * it. A call that succeeded and was undone later is left out: with the call around its evaluation, or with an attempt of
 * a chain that began again; where undoing that attempt failed, its calls are here.
 */
export function callsOf(attempt: Pick<Attempt, "events">): readonly ToolInvoked[] {
  const standing = new StandingWork<ToolInvoked>();
  const ends: ToolInvoked[] = [];
  const undone = new Set<ToolInvoked>();
  const undo = (work: Work): void => {
    for (const call of standing.undo(work)) undone.add(call);
  };
  for (const event of attempt.events) {
    if (!isFrameworkEvent(event)) continue;
    standing.add(event);
    if (event.type === "evaluation.restarted") undo({ evaluationId: event.evaluationId });
    if (event.type !== "tool.invoked") continue;
    // A success of the same call was vetoed (TX-5).
    if (event.result.success) standing.keep(event, event);
    else undo(event);
    ends.push(event);
  }
  return ends.filter((call) => !undone.has(call));
}

const isFrameworkEvent = (event: SessionEvent): event is FrameworkEvent => isFrameworkEventType(event.type);

/**
 * Scores whether the calls that succeeded are the expected ones, those of nested evaluations included. "exact": these and no
 * other, in this order. "in-order": these in this order, with others between. "includes": these in any order, each by a call
 * of its own. "only": no call but these, each as often as it comes. Where they are not, the reason names the first call that
 * is missing, superfluous or out of place.
 *
 * @param match Default "exact".
 * @throws {DefinitionError} for a `match` that is none of these.
 */
export function calls(
  attempt: Pick<Attempt, "events">,
  expected: readonly ExpectedCall[],
  match: "exact" | "in-order" | "includes" | "only" = "exact",
): Score {
  if (!Object.hasOwn(differences, match)) {
    throw new DefinitionError(`calls has no match ${JSON.stringify(match)}: ${Object.keys(differences).join(", ")}.`);
  }
  const reason = differences[match](
    callsOf(attempt).filter(({ result }) => result.success),
    expected.map(wantedOf),
  );
  return reason === undefined ? true : { value: false, reason };
}

interface Wanted {
  readonly name: string;
  readonly input: object | undefined;
}

function wantedOf(expected: ExpectedCall): Wanted {
  if (typeof expected === "string") return { name: expected, input: undefined };
  // A tool has a name; an expected call names its tool.
  if (!("tool" in expected)) return { name: expected.name, input: undefined };
  const { tool, input } = expected;
  return { name: typeof tool === "string" ? tool : tool.name, input };
}

/** Each returns the first difference in words; undefined where there is none. */
const differences = {
  exact: notTheSame,
  "in-order": notInOrder,
  includes: notAllIncluded,
  only: notOnlyThese,
} as const;

function notTheSame(made: readonly ToolInvoked[], wanted: readonly Wanted[]): string | undefined {
  const at = wanted.findIndex((one, place) => !isMet(one, made[place]));
  const superfluous = made[wanted.length];
  if (at < 0)
    return superfluous === undefined ? undefined : `call ${wanted.length + 1} is superfluous: ${shown(superfluous)}`;
  const [one, found] = [wanted[at] as Wanted, made[at]];
  if (found === undefined) return `call ${at + 1} is missing: ${wantedText(one)}`;
  return `call ${at + 1} is ${shown(found)}; expected is ${wantedText(one)}`;
}

function notInOrder(made: readonly ToolInvoked[], wanted: readonly Wanted[]): string | undefined {
  let next = 0;
  for (const one of wanted) {
    const found = made.findIndex((call, at) => at >= next && isMet(one, call));
    if (found < 0) {
      const earlier = made.findIndex((call) => isMet(one, call));
      const text = wantedText(one);
      return earlier < 0
        ? `missing: ${text}`
        : `out of place: ${text} is call ${earlier + 1}, and expected after call ${next}`;
    }
    next = found + 1;
  }
  return undefined;
}

/** Gives each expected call a call of its own, and moves earlier ones to another where that makes room (Kuhn's matching). */
function notAllIncluded(made: readonly ToolInvoked[], wanted: readonly Wanted[]): string | undefined {
  const taken = new Map<number, Wanted>();
  const place = (one: Wanted, tried: Set<number>): boolean =>
    made.some((call, at) => {
      if (tried.has(at) || !isMet(one, call)) return false;
      tried.add(at);
      const holder = taken.get(at);
      if (holder !== undefined && !place(holder, tried)) return false;
      taken.set(at, one);
      return true;
    });
  const missing = wanted.find((one) => !place(one, new Set()));
  return missing === undefined ? undefined : `missing: ${wantedText(missing)}`;
}

function notOnlyThese(made: readonly ToolInvoked[], wanted: readonly Wanted[]): string | undefined {
  const at = made.findIndex((call) => !wanted.some((one) => isMet(one, call)));
  return at < 0 ? undefined : `call ${at + 1} is superfluous: ${shown(made[at] as ToolInvoked)}`;
}

function isMet({ name, input }: Wanted, call: ToolInvoked | undefined): boolean {
  return call?.name === name && (input === undefined || holds(call.params, input));
}

const shown = ({ name, params }: ToolInvoked): string => callText(name, params);
const wantedText = ({ name, input }: Wanted): string => (input === undefined ? name : callText(name, input));

/** UTF-16 units of an input in a reason. */
const longestInput = 200;

function callText(name: string, input: unknown): string {
  const text = JSON.stringify(input, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : value)) ?? "";
  return `${name}(${text.length <= longestInput ? text : `${text.slice(0, longestInput).toWellFormed()}…`})`;
}
