import { messageOf } from "@proviso/core/internal";
import type { Limits, WithinGrace } from "./limits.ts";
import type { LogLevel } from "./logging.ts";
import type { ResourceContext } from "./resources/asking.ts";
import { noEnclosing, type Enclosing } from "./transactions/session-view.ts";
import type { Transaction } from "./transactions/transaction.ts";

/** What of an evaluation has to be closed. */
interface Closing {
  readonly nesting: { readonly transaction: Transaction | undefined } | undefined;
  readonly resources: ResourceContext;
  readonly limits: Limits;
  enclosing: Enclosing;
  readonly endings: readonly (() => Promise<void>)[] | undefined;
  readonly withinGrace: WithinGrace;
  readonly log: (level: LogLevel, fields: object, message: string) => void;
}

/**
 * What goes on behind the evaluation's end, a rollback for example, needs the resources until it is done. undefined:
 * nothing had to be waited for. Never throws, and never rejects.
 */
export function closeRun(run: Closing, behind: ReadonlySet<Promise<unknown>>): Promise<void> | undefined {
  const { nesting, resources, limits } = run;
  let closing: Promise<void> | undefined;
  // What its calls have begun may outlive it by far, and keeps it.
  run.enclosing = noEnclosing;
  // Resources may have to be restored with the call around, which closes them when it has ended.
  const failed = (error: unknown): void => run.log("error", { error: messageOf(error) }, "resource.close.failed");
  try {
    const around = nesting?.transaction;
    if (around !== undefined && !around.ended) around.closings.push(() => resources.close());
    else closing = behind.size === 0 ? resources.close() : Promise.all(behind).then(() => resources.close());
    const endings = run.endings?.map((end) => ended(end).catch(failed));
    if (endings !== undefined) closing = Promise.all([closing, ...endings]).then(() => {});
    if (closing !== undefined)
      return run
        .withinGrace(closing, failed)
        .catch(failed)
        .then(() => limits.close());
  } catch (error) {
    failed(error);
  }
  limits.close();
  return undefined;
}

/** Rejects also where it throws at once. */
async function ended(end: () => Promise<void>): Promise<void> {
  await end();
}
