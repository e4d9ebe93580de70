// node desk.ts <file> work|waits [held]   evaluates the run "r": twelve calls of 10 ms each; with "waits" a policy suspends the sixth;
//                                         the call of the number `held` goes on when standard input has something
// node desk.ts <file> resolve <token>     decides
// Prints a line with each call that begins, then what it came to.
import { allow, definePolicy, isEvaluationFailure, JournalError, RunError, suspend } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { once } from "node:events";
import { argv, exit, stdin } from "node:process";
import { counting, countingModel } from "./counting.ts";

const [, , file = "", mode = "work", given = ""] = argv;
const print = (...words: readonly unknown[]): Promise<void> =>
  new Promise((resolve) => process.stdout.write(`${words.join(" ")}\n`, () => resolve()));
const journal = sqliteJournal(file);
if (mode === "resolve") {
  const came = await journal.resolve(given, allow()).then(
    () => "resolved",
    (error: unknown) => (error instanceof JournalError ? error.reason : String(error)),
  );
  await print(came);
} else {
  const sixth = definePolicy({
    name: "sixth",
    check: ({ input }) => ((input as { readonly n: number }).n === 5 ? suspend("Go on?") : allow()),
  });
  const prompt = counting(async (n) => {
    await print("call", n);
    if (String(n) === given) await once(stdin, "data");
  });
  const policies = mode === "waits" ? [sixth] : [];
  const came = await modelAdapter(countingModel)
    .evaluate(prompt, { run: journal.run("r"), policies })
    .then(
      ({ text }) => `ended ${text}`,
      (error: unknown) => {
        if (error instanceof RunError && error.pending !== undefined) return `suspended ${error.pending.token}`;
        if (error instanceof RunError) return `failed ${error.code} ${error.reason}`;
        return isEvaluationFailure(error) ? `failed ${error.code}` : String(error);
      },
    );
  await print(came);
}
await journal.close();
exit(0);
