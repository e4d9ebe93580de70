import { isAsk, makers, type Ask, type ContenderName, type Measured } from "./http-contenders.ts";

// One contender in a process of its own, over the built packages. It works when it is asked to, so many evaluations at
// once. The contenders take turns, so that what else the machine does falls on all of them.
const [name = "", baseURL = "", concurrencyText = "1"] = process.argv.slice(2);
const concurrency = Number(concurrencyText);
const work = await makers[name as ContenderName](baseURL);

process.on("message", (message: unknown) => {
  if (isAsk(message)) void slice(message).then((measured) => process.send?.(measured));
});

/** A number of evaluations, not a length of time: a machine that is busy elsewhere does not end a slice early. */
async function slice({ warmUp, evaluations }: Ask): Promise<Measured> {
  let done = 0;
  const { promise: finished, resolve: finish } = Promise.withResolvers<Measured>();
  let startedAt = 0;
  let cpuBefore = process.cpuUsage();
  const count = (): void => {
    done += 1;
    if (done === warmUp) {
      startedAt = performance.now();
      cpuBefore = process.cpuUsage();
    } else if (done === warmUp + evaluations) {
      const { user, system } = process.cpuUsage(cpuBefore);
      const perSecond = (evaluations * 1_000) / (performance.now() - startedAt);
      const rssMB = process.memoryUsage().rss / 1024 / 1024;
      finish({ perSecond, cpuMicros: (user + system) / evaluations, rssMB });
    }
  };
  const worker = async (): Promise<void> => {
    while (done < warmUp + evaluations) {
      await work();
      count();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return finished;
}
