import type { Session } from "@proviso/core";
import { createSnapshot, restoreSnapshot, transaction, type TransactionViews } from "@proviso/runtime";
import { createEvaluation } from "./evaluations.ts";
import type { Operation, Store } from "./record.ts";
import { cellKeys, hasFailed, tallied, textsOf, type Opened, type Stage } from "./stage.ts";
import { work, type Worker } from "./steps.ts";

interface Scope {
  readonly session: Session;
  readonly resources: Opened;
}

/** A body that works, rolls back and goes on, has a transaction inside, throws or commits. */
export async function runTransaction(
  stage: Stage,
  scope: Scope,
  parent: Operation | undefined,
  depth: number,
): Promise<void> {
  const { random, record, book, environment } = stage;
  const operation = record.begin(parent);
  const left: Left[] = [];
  const tag = operation.id;
  stage.note(`${tag} is a transaction${parent === undefined ? "" : ` in ${parent.id}`}`);
  let isOnPurpose = false;
  const body = async (rollback: () => Promise<void>, views: TransactionViews): Promise<void> => {
    const worker = workerOf(stage, scope, operation, views, depth);
    await work(stage, worker);
    if (random.chance(0.3)) {
      await rollback();
      record.undo(operation);
      stage.note(`${tag} rolls back and goes on`);
      await work(stage, worker);
    }
    if (depth < 1 && random.chance(0.3)) await runTransaction(stage, scope, operation, depth + 1);
    isOnPurpose = random.chance(0.35);
    // By the number of the seed: the other seeds stay as they were.
    if (stage.seed % 5 === 3) {
      for (let more = random.int(3); more > 0; more--) left.push(leave(stage, worker));
      await environment.clock.sleep(random.pick([0, 5, 40, 200, 1_000]));
      if (random.chance(0.4)) {
        await rollback();
        record.undo(operation);
        stage.note(`${tag} rolls back in the middle of what it has left`);
        book.demand(left.every(isOver), `TX-9 ${tag} is rolled back, and an evaluation goes on`);
        await work(stage, worker);
      }
    }
    if (isOnPurpose) throw new Error("on purpose");
  };
  const outcome = await transaction({ ...scope, tag }, body).then(
    () => undefined,
    (error: unknown) => error as Error & { readonly code?: string },
  );
  if (outcome !== undefined) record.undo(operation);
  book.demand(left.every(isOver), `TX-9 ${tag} ends before an evaluation that its body has left`);
  operation.ended = true;
  operation.finished = outcome === undefined;
  stage.note(`${tag} ends with ${outcome?.message ?? "a commit"}`);
  if (outcome?.code === "unusable") stage.ends.unusable += 1;
  if (outcome === undefined || isOnPurpose) return;
  // What an evaluation inside throws passes through, also where it waited for somebody who waited for this one.
  const isExpected = (outcome.code === "deadlock" && !stage.orderly) || hasFailed(stage) || stage.faulty;
  book.demand(isExpected, `TX-9 ${tag} ends with ${outcome.stack}`);
}

/** An evaluation that a body begins and does not wait for. */
interface Left {
  isOver: boolean;
}

function leave(stage: Stage, worker: Worker): Left {
  const left: Left = { isOver: false };
  const { session, operation, depth } = worker;
  const place = { session, parent: operation, depth: depth + 1, readOnly: false, isInBody: true, keys: cellKeys, work };
  const over = (): void => void (left.isOver = true);
  stage.background.push(worker.evaluate(createEvaluation(stage, place), undefined).then(over, over));
  return left;
}

function isOver(left: Left): boolean {
  return left.isOver;
}

function workerOf(
  stage: Stage,
  { session, resources }: Scope,
  operation: Operation,
  views: TransactionViews,
  depth: number,
): Worker {
  const { random } = stage;
  // By its views, or as everybody else: it is known by the asynchronous context.
  const ownSession = random.chance(0.5) ? views.session : session;
  const ownResources = random.chance(0.5) ? views.resources : resources;
  return {
    operation,
    view: ownSession,
    session,
    store: stage.sessions.get(session) as Store,
    keys: cellKeys,
    holdsAll: true,
    isInBody: true,
    kind: "body",
    depth,
    signal: undefined,
    open: (key) => ownResources.open(key),
    evaluate: ({ prompt, adapter }) => adapter.evaluate(prompt, { session: ownSession, resources: ownResources }),
  };
}

/** Session and cells as they are now; some time later, they are again. */
export async function goBack(stage: Stage, scope: Scope): Promise<void> {
  const { random, record, environment, cells, sessions, goingBack } = stage;
  const { clock } = environment;
  const stores = [...cells.map(({ store }) => store), sessions.get(scope.session) as Store];
  try {
    let marks: readonly (readonly [Store, readonly string[]])[] = [];
    // The tag is read when the snapshot is made. A call that waited for it works before its promise has resolved.
    const tagged = {
      ...scope,
      get tag(): string {
        marks = stores.map((store) => [store, record.texts(store)] as const);
        return "back";
      },
    };
    const snapshot = await createSnapshot(tagged);
    for (let times = 1 + random.int(2); times > 0; times--) {
      await clock.sleep(random.int(400));
      // The session is restored first, at once; what the application dispatches from then on stands.
      goingBack.next = () => {
        goingBack.next = undefined;
        for (const [store, texts] of marks) record.restored(store, texts);
      };
      await restoreSnapshot({ ...scope, tag: "back" }, snapshot);
      stage.note("goes back to a snapshot");
    }
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === "unusable") stage.ends.unusable += 1;
    const isExpected = hasFailed(stage) || stage.faulty || (code === "deadlock" && !stage.orderly);
    stage.book.demand(isExpected, `TX-9 a snapshot ends with ${(error as Error).stack}`);
  }
}

/** The application dispatches while others work: that stands, whatever they come to. */
export async function visit(stage: Stage, session: Session): Promise<void> {
  const { random, record, environment, sessions } = stage;
  for (let times = 1 + random.int(4); times > 0; times--) {
    await environment.clock.sleep(random.int(150));
    if (textsOf(stage, session) === undefined) return;
    const text = `application-${random.int(1_000)}`;
    session.dispatch(tallied({ text }));
    record.did(sessions.get(session) as Store, undefined, text);
  }
}
