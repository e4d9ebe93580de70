import {
  defineEvent,
  defineSection,
  defineSlice,
  defineTool,
  toolError,
  type Section,
  type Slice,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { z } from "zod";

const statuses = ["pending", "in_progress", "done", "blocked"] as const;

/** A step of a plan. */
export interface PlanStep {
  /** What is to be done. */
  readonly title: string;
  /** How far it is. */
  readonly status: (typeof statuses)[number];
  /** What was noted about it. */
  readonly note?: string | undefined;
}

/** What a model has set itself to do. */
export interface Plan {
  /** What the plan is for. */
  readonly goal: string;
  /** Numbered from 1. */
  readonly steps: readonly PlanStep[];
}

const planSet = defineEvent("toolkit.plan-set", z.object({ goal: z.string(), steps: z.array(z.string()).readonly() }));
const stepUpdated = defineEvent(
  "toolkit.plan-step-updated",
  z.object({ step: z.number(), status: z.enum(statuses), note: z.string().optional() }),
);

/** The plan of a session; undefined until there is one. It is undone with the call that changed it. */
export const planSlice: Slice<Plan | undefined> = defineSlice<Plan | undefined>({
  name: "toolkit.plan",
  initial: undefined,
  reducers: ({ on }) => {
    on(planSet, (_, { goal, steps }) => ({
      goal,
      steps: steps.map((title) => ({ title, status: "pending" as const })),
    }));
    on(stepUpdated, (before, { step, status, note }) => {
      if (before === undefined) return;
      const steps = before.steps.map((one, index) =>
        index === step - 1 ? { ...one, status, ...(note === undefined ? {} : { note }) } : one,
      );
      return { ...before, steps };
    });
  },
});

/** A plan is in the session, and is as it was set, however often. */
const changesPlanAlone = { transactional: true, idempotent: true } as const;

const setPlan = defineTool({
  name: "set_plan",
  description: "Set the plan: the goal and the steps towards it, in order. It takes the place of an earlier one.",
  ...changesPlanAlone,
  input: z.object({ goal: z.string().min(1), steps: z.array(z.string().min(1)).min(1).max(50) }),
  execute({ goal, steps }, { session }) {
    session.dispatch(planSet({ goal, steps }));
    return planText(session.get(planSlice));
  },
});

const updateStep = defineTool({
  name: "update_plan_step",
  description: "Set the status of a step of the plan, with a note on what came of it.",
  ...changesPlanAlone,
  input: z.object({
    step: z.number().int().positive().describe("from 1"),
    status: z.enum(statuses),
    note: z.string().optional(),
  }),
  execute({ step, status, note }, { session }) {
    const steps = session.get(planSlice)?.steps.length ?? 0;
    if (steps === 0) return toolError("There is no plan yet: call set_plan first.");
    if (step > steps) return toolError(`The plan has ${steps} steps; there is no step ${step}.`);
    session.dispatch(stepUpdated({ step, status, ...(note === undefined ? {} : { note }) }));
    return planText(session.get(planSlice));
  },
});

const guidance = `Work by a plan:
1. Goal: say in one sentence what has to be true at the end.
2. Decompose: split it into steps that can each be checked. Call set_plan.
3. Route: for each step choose the tool that settles it soonest; mark the step in_progress, then done or blocked.
4. Synthesise: when every step is done or blocked, answer from what the steps found, and say what stayed open.
Change the plan when what you find contradicts it.`;

/** A section that lets the model keep a plan: the guidance, the tools and the slice. Default key "planning". */
export function planning(
  options: { readonly key?: string | undefined; readonly title?: string | undefined } = {},
): Section {
  checkOptionNames("planning", options, { key: true, title: true });
  const { key = "planning", title = "Planning" } = options;
  return defineSection({ key, title, text: guidance, tools: [setPlan, updateStep], slices: [planSlice] });
}

function planText(current: Plan | undefined): string {
  if (current === undefined) return "There is no plan yet.";
  const steps = current.steps.map(({ title, status, note }, index) => {
    return `${index + 1}. [${status}] ${title}${note === undefined ? "" : ` (${note})`}`;
  });
  return [`Goal: ${current.goal}`, ...steps].join("\n");
}
