import { allow, definePolicy, deny, type PolicyDecision, type ToolPolicy } from "@proviso/core";
import { transaction } from "@proviso/runtime";
import { forged, tallied, type Stage } from "./stage.ts";

interface Asked {
  readonly operation: string;
  readonly load: { amount: number; readonly at: Date };
}

/** A check, and somebody who is asked and takes their time; or one of them. */
export function randomPolicies(stage: Stage): readonly ToolPolicy[] {
  const { random } = stage;
  const checks = checking(stage);
  const approves = approving(stage);
  return random.pick([[checks], [approves], [checks, approves], [approves, checks]]);
}

/** Whoever tries to change what was asked changes nothing. */
function forge(input: Asked): void {
  // It is frozen: an assignment would throw, and an error costs a hundred times as much as this.
  Reflect.set(input.load, "amount", forged);
  // This cannot be frozen.
  input.load.at.setTime(forged);
}

/** Notes that it was asked; denies, or changes its mind, or the input, when it is asked again. */
function checking(stage: Stage): ToolPolicy {
  const { random, record, sessions } = stage;
  const asked = new Map<string, number>();
  const manner = random.pick(["allow", "allow", "allow", "deny", "deny later", "change", "change later"] as const);
  return definePolicy({
    name: "check",
    uses: [],
    check({ input }, context): PolicyDecision {
      const given = input as Asked;
      const { operation: id, load } = given;
      const at = new Date(load.at);
      const times = (asked.get(id) ?? 0) + 1;
      asked.set(id, times);
      const operation = record.operation(id);
      const store = [...sessions].find(([{ id: own }]) => own === context.session.id)?.[1];
      if (operation === undefined || store === undefined) return deny("unknown");
      stage.book.demand(!operation.ended, `TOOL-10 ${id} is checked although it is over`);
      forge(given);
      if (!operation.readOnly && random.chance(0.5)) {
        const text = `${id}-check${times}`;
        context.session.dispatch(tallied({ text }));
        record.did(store, operation, text);
      }
      stage.checked.set(id, context.session);
      if (manner === "deny" || (manner === "deny later" && times > 1)) {
        stage.denied.add(id);
        return deny("not allowed");
      }
      if (manner === "change" || (manner === "change later" && times > 1))
        return allow({ ...given, load: { amount: (load.amount % 5) + (manner === "change" ? 0 : 1), at } });
      return allow();
    },
  });
}

/** While it thinks, nothing is locked: everybody else goes on. */
function approving(stage: Stage): ToolPolicy {
  const { random, environment, record, approved, scopes, book } = stage;
  return definePolicy({
    name: "approve",
    async approve({ input }, context): Promise<PolicyDecision> {
      const given = input as Asked;
      const { operation: id } = given;
      const operation = record.operation(id);
      // What the checks did was rolled back.
      if (operation !== undefined) record.undo(operation);
      const at = new Date(given.load.at);
      approved.set(id, "nothing yet");
      stage.note(`${id} waits for approval`);
      forge(given);
      await environment.clock.sleep(random.pick([0, 50, 5_000]));
      const session = [...stage.sessions.keys()].find((one) => one.id === context.session.id);
      const [scope] = scopes;
      if (session !== undefined && scope !== undefined && operation?.parent === undefined) {
        // It would wait for ever if the call held anything.
        await transaction({ session, resources: scope, tag: `while ${id} waits` }, async () => {}).catch(
          (error: unknown) => {
            const { code } = error as { readonly code?: string };
            const isCircle = code === "deadlock" && !stage.orderly;
            const isExpected = isCircle || stage.cells.some(({ hasFailed }) => hasFailed) || stage.faulty;
            if (code === "unusable") stage.ends.unusable += 1;
            book.demand(isExpected, `TOOL-10 nobody can go on while ${id} waits: ${(error as Error).message}`);
          },
        );
      }
      const kind = random.int(12);
      if (kind < 5) stage.denied.add(id);
      if (kind === 0) return {} as PolicyDecision;
      if (kind === 1) return { allowed: "yes" } as unknown as PolicyDecision;
      if (kind === 2) return undefined as unknown as PolicyDecision;
      if (kind === 3) throw new Error("nobody is there");
      if (kind === 4) return deny("");
      const change = kind < 7 ? { ...given, load: { amount: (given.load.amount + 1) % 9, at } } : undefined;
      approved.set(id, JSON.stringify(change ?? { ...given, load: { ...given.load, at } }));
      stage.note(`${id} is approved`);
      return change === undefined ? allow() : allow(change);
    },
  });
}
