import type { Mutation } from "./mutations.ts";

const runtime = (file: string): string => `runtime/src/${file}`;

/** Bugs in what locks, snapshots, restores, releases, approves and closes. */
export const lockMutations: readonly Mutation[] = [
  {
    name: "a resource has no lock where it is bound by provide",
    file: runtime("transactions/snapshots.ts"),
    find: "  let lock = sharedByProcess().locks.get(resource);",
    replace: "  let lock = Math.random() < 2 ? createLock() : undefined;",
  },
  {
    name: "a lock belongs to the transaction's scope, not to the instance",
    file: runtime("transactions/lock-all.ts"),
    find: "const others = resources.map((participant) => wantedOf(participant, participant.mode));",
    replace:
      "const others = resources.map((participant) => ({ ...wantedOf(participant, participant.mode), of: lockOf(core) }));",
  },
  {
    name: "a writer locks as a reader does",
    file: runtime("tools/begin.ts"),
    find: 'const mode: LockMode = isReadOnly ? "read" : "write";',
    replace: 'const mode: LockMode = isReadOnly ? "read" : "read";',
  },
  {
    name: "a lock is free for a writer while others read",
    file: runtime("transactions/lock.ts"),
    find: 'if (mode === "write" || holds.some((held) => held.mode === "write")) return false;',
    replace: 'if (holds.some((held) => held.mode === "write")) return false;',
  },
  {
    name: "locks are released before the rollback is done",
    file: runtime("transactions/ending.ts"),
    find: "void ending.catch(() => {}).then(() => leave(transaction));",
    replace: "leave(transaction);",
  },
  {
    name: "a limit does not end a wait for a lock",
    file: runtime("transactions/lock-all.ts"),
    find: "      waiting.cancel();\n      return ended;",
    replace: "      await waiting.ready;",
  },
  {
    name: "a circle of waits is not seen",
    file: runtime("transactions/lock.ts"),
    find: "if (waitsBack !== undefined) {",
    replace: "if (waitsBack !== undefined && lock.number < -1) {",
  },
  {
    name: "locks are taken in any order",
    file: runtime("transactions/lock-all.ts"),
    find: ".toSorted((a, b) => a.of.number - b.of.number)",
    replace:
      ".toSorted((a, b) => (a.of.number * 7919 + resources.length * 31) % 13 - ((b.of.number * 7919 + resources.length * 31) % 13))",
  },
  {
    name: "those around do not hold what is locked inside",
    file: runtime("transactions/lock.ts"),
    find: "if (outer.ended || isOnlyRead || !takesFor(outer, scope)) return passed(outer, wanted);",
    replace: "if (isOnlyRead || outer.ended !== undefined) return passed(outer, wanted);",
  },
  {
    name: "the body of a transaction does not hold what is first used inside it",
    file: runtime("transactions/lock.ts"),
    find: "return outer.scope === undefined || outer.scope === scope;",
    replace: "return outer.scope === undefined;",
  },
  {
    name: "a resource that joins late has no snapshot",
    file: runtime("transactions/transaction.ts"),
    find: "if (blocked === undefined) return takeSnapshots(transaction, participant);\n  return",
    replace: "if (blocked === undefined) return undefined;\n  return",
  },
  {
    name: "those around take no snapshot of what joins inside",
    file: runtime("transactions/snapshots.ts"),
    find: "const around = transaction.parent && takeSnapshots(transaction.parent, participant);",
    replace: "const around = undefined as Promise<void> | undefined;",
  },
  {
    name: "a snapshot is awaited only where it is a Promise",
    file: runtime("transactions/snapshots.ts"),
    find: "  if (!isThenable(snapshot)) return undefined;",
    replace: "  if (!(snapshot instanceof Promise)) return undefined;",
  },
  {
    name: "a release is awaited only where it is a Promise",
    file: runtime("transactions/snapshots.ts"),
    find: "if (isThenable(released))",
    replace: "if (released instanceof Promise)",
  },
  {
    name: "a release is not waited for",
    file: runtime("transactions/snapshots.ts"),
    find: "return releasing.length === 0 ? undefined : allSettled(releasing);",
    replace: "return undefined;",
  },
  {
    name: "a restore is tried once",
    file: runtime("transactions/snapshots.ts"),
    find: "await once().catch(once);",
    replace: "await once();",
  },
  {
    name: "a failed restore is silent",
    file: runtime("transactions/ending.ts"),
    find: "await restore(taken, transaction.host).catch((cause: unknown) => errors.push(cause));",
    replace: "await restore(taken, transaction.host).catch(() => errors);",
  },
  {
    name: "a resource that failed is used on",
    file: runtime("transactions/snapshots.ts"),
    find: "if (broken !== undefined) throw broken;",
    replace: "void broken;",
  },
  {
    name: "closings come before the rollback",
    file: runtime("tools/run-call.ts"),
    find: "if (close !== undefined) transaction.closings.push(close);",
    replace: "if (close !== undefined) void close();",
  },
  {
    name: "an inner evaluation's resources are closed when it ends",
    file: runtime("closing.ts"),
    find: "if (around !== undefined && !around.ended) around",
    replace: "if (around === null) around",
  },
  {
    name: "what goes on behind an evaluation finds its resources closed",
    file: runtime("closing.ts"),
    find: "closing = behind.size === 0 ?",
    replace: "closing = behind.size >= 0 ?",
  },
  {
    name: "an approval is asked for inside the lock",
    file: runtime("tools/executor.ts"),
    find: "    throw cause;\n  } finally {\n    await endTransaction(transaction);\n  }",
    replace: "    throw cause;\n  } finally {\n    void endTransaction;\n  }",
  },
  {
    name: "what was checked before an approval is not undone",
    file: runtime("tools/executor.ts"),
    find: "    await rollback(transaction);\n    return checked;",
    replace: "    return checked;",
  },
  {
    name: "the second check is left out",
    file: runtime("tools/executor.ts"),
    find: "const watched = { policies, approved: { input }, isSurrounded: true };",
    replace: "const watched = { policies: [], approved: { input }, isSurrounded: true };",
  },
  {
    name: "a check may change what was approved",
    file: runtime("tools/policies.ts"),
    find: "if (approved !== undefined && !isSameInput(checked.input, approved.input)) {",
    replace: "if (approved === null) {",
  },
  {
    name: "an odd decision allows",
    file: runtime("tools/policies.ts"),
    find: "if (decision?.allowed === true) {",
    replace: "if (decision?.allowed !== false) {",
  },
  {
    name: "the approved input is not what runs",
    file: runtime("tools/executor.ts"),
    find: "  const { input } = approved;\n",
    replace: "  const { input } = checked;\n",
  },
  {
    name: "a transaction takes no lock",
    file: runtime("transaction-scope.ts"),
    find: '    sessionMode: "write",\n    resources: context.participants().map((participant) => ({ ...participant, mode: "write" as const })),',
    replace:
      '    sessionMode: "read",\n    resources: context.participants().map((participant) => ({ ...participant, mode: "read" as const })),',
  },
  {
    name: "what the body of a transaction dispatches stays",
    file: runtime("transactions/session-view.ts"),
    find: "transaction.scope !== undefined && !transaction.ended && transaction.core === core",
    replace: "transaction.scope === null",
  },
  {
    name: "what a transaction inside another does stays",
    file: runtime("session/concurrent-changes.ts"),
    find: "if (owner !== undefined && parent !== undefined) this.#remember(owner, parent);",
    replace: "void parent;",
  },
  {
    name: "what others dispatch meanwhile is undone",
    file: runtime("session/state.ts"),
    find: "    this.#concurrent.record({ event, by: undefined });\n",
    replace: "",
  },
  {
    name: "the snapshots of others go with an instance that a factory returns",
    file: runtime("resources/making.ts"),
    find: "return wasUsedBefore(instance) ? undefined : instance;",
    replace: "return instance;",
  },
  {
    name: "locks of a transaction that did not begin stay",
    file: runtime("transactions/transaction.ts"),
    find: "if (transaction.snapshots.length === 0) return leave(transaction);",
    replace: "if (transaction.snapshots.length === 0) return undefined;",
  },
  {
    name: "an evaluation waits for the call in whose code it begins",
    file: runtime("transactions/session-view.ts"),
    find: "!current.transaction.ended) return startedIn(current.transaction);",
    replace: "!current.transaction.ended) return noEnclosing;",
  },
  {
    name: "a restored mark keeps what was undone since",
    file: runtime("session/concurrent-changes.ts"),
    find: "if (other.mark.order > mark.order) other.base = base;",
    replace: "void [other, base];",
  },
  {
    name: "what a call reads is not locked",
    file: runtime("tools/begin.ts"),
    find: "const own = used.map((participant) => ({ ...participant, mode }));",
    replace: 'const own = used.filter(() => mode === "write").map((participant) => ({ ...participant, mode }));',
  },
  {
    name: "uses are not locked",
    file: runtime("tools/begin.ts"),
    find: "return keys.length === 0 ? [] : resources.participants(keys);",
    replace: "return keys.length === 0 ? [] : resources.participants([]);",
  },
  {
    name: "a snapshot is restored without its resources",
    file: runtime("transaction-scope.ts"),
    find: "await restoreSavepoints(own, known.savepoints,",
    replace: "await restoreSavepoints(own, [],",
  },
  {
    name: "an input is not frozen",
    file: runtime("tools/arguments.ts"),
    find: "  return ArrayBuffer.isView(copy) ? copy : frozenInDepth(copy);",
    replace: "  return copy;",
  },
  {
    name: "what of an input cannot be frozen is everybody's",
    file: runtime("tools/arguments.ts"),
    find: "  changeable.add(copy);\n",
    replace: "",
  },
  {
    name: "who gives up takes a shared resource along",
    file: runtime("resources/store.ts"),
    find: "  late.isShared = true;\n",
    replace: "",
  },
  {
    name: "what a factory has begun stays part of the call that made it",
    file: runtime("transactions/async-context.ts"),
    find: "const end = (): void => void (place.current = place.attempt = undefined);",
    replace: "const end = (): void => void place;",
  },
  {
    name: "a close is waited for, however long",
    file: runtime("resources/closing.ts"),
    find: 'const stop = setAlarm(clock, closeMs, () => expire("expired"));',
    replace: 'const stop = setAlarm(clock, 2 ** 40, () => expire("expired"));',
  },
  {
    name: "context.evaluate forgets the body in which it was called",
    file: runtime("transactions/session-view.ts"),
    find: "export function enclosingOfNested(call: Transaction): Enclosing {\n",
    replace:
      'export function enclosingOfNested(call: Transaction): Enclosing {\n  if (call.id !== "") return noEnclosing;\n',
  },
];
