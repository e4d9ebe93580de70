// A handler of a recorded run: kept before it begins, and not begun where its call may have been done already.
import type { Tool } from "@proviso/core";
import type { Run } from "../run.ts";
import { ownInput } from "../tools/arguments.ts";
import type { HandlerParts } from "./contract.ts";
import type { EffectRecord } from "./effects.ts";
import { TapeFault } from "./fault.ts";

/** Milliseconds that `reconcile` may take where the tool has no limit of its own. */
const reconcileMs = 30_000;

export function recordedHandler<Invocation>(
  effects: EffectRecord,
  run: Run,
  parts: HandlerParts<Invocation>,
): Invocation | Promise<Invocation> {
  const { call, tool } = parts;
  const begin = (): Invocation | Promise<Invocation> => {
    const starting = effects.starting(run, call, tool, parts.calling.idempotencyKey());
    if (starting === undefined) return parts.execute();
    return starting.then(() => parts.whyTooLate() ?? parts.execute()).catch((error: unknown) => parts.thrown(error));
  };
  if (run.isInside || !effects.isUnknown(run.turn, call.id, tool)) return begin();
  return reconciled(run, parts).then(
    (known) => {
      if (known === "not-started") return begin();
      return known === "unknown" ? parts.refused(unsettled(tool)) : parts.checked(known.value);
    },
    (error: unknown) => parts.thrown(error),
  );
}

function unsettled({ name }: Tool): string {
  return `It is not known whether ${name} was done: the process ended while it ran. Find out before you call it again.`;
}

type Known = "not-started" | "unknown" | { readonly value: unknown };

/** Asks the tool what became of the call; it may change nothing. What throws or takes too long is not known. */
async function reconciled<Invocation>(
  run: Run,
  { call, tool, input, calling }: HandlerParts<Invocation>,
): Promise<Known> {
  if (tool.reconcile === undefined) return "unknown";
  const over = new AbortController();
  try {
    calling.beginReconcile();
    const asking = (async () => tool.reconcile?.(ownInput(input), calling.context))();
    const { clock } = run.tape ?? run.world;
    const late = clock.sleep(tool.timeoutMs ?? reconcileMs, over.signal).then(
      () => "unknown" as const,
      () => "unknown" as const,
    );
    const value: unknown = await Promise.race([asking, late]);
    asking.catch(() => {});
    return value === "not-started" || value === "unknown" ? value : { value };
  } catch (error) {
    if (error instanceof TapeFault) throw error;
    run.log("warn", { tool: tool.name, callId: call.id, error: String(error) }, "tool.reconcile.failed");
    return "unknown";
  } finally {
    over.abort();
  }
}
