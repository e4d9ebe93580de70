// The request that the running code is part of: an evaluation that a model or an agent starts while it answers cannot
// wait for the end of that answer.
import type { BudgetTracker } from "@proviso/core";
import { asyncStorage } from "../async-storage.ts";

interface Request {
  /** Whether another request that waits for the tracker waits for this one. */
  holds(tracker: BudgetTracker): boolean;
}

interface EnclosingRequest {
  readonly request: Request;
  readonly outer: EnclosingRequest | undefined;
}

const storage = asyncStorage<EnclosingRequest>();

/** Runs the body, and what it begins, as part of the request. */
export function runInRequest<R>(request: Request, body: () => R): R {
  return storage === undefined ? body() : storage.run({ request, outer: storage.getStore() }, body);
}

/** Whether the running code is part of a request that holds something of the tracker. */
export function isInRequestOn(tracker: BudgetTracker): boolean {
  for (let around = storage?.getStore(); around !== undefined; around = around.outer) {
    if (around.request.holds(tracker)) return true;
  }
  return false;
}
