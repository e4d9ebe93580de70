/** What throws as soon as somebody looks at it. */
const trap = (): never => {
  throw new Error("do not look");
};
const revoked = (target: object): unknown => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const handler: ProxyHandler<object> = {
  get: trap,
  has: trap,
  ownKeys: trap,
  getPrototypeOf: trap,
  getOwnPropertyDescriptor: trap,
};

/** Values that do harm where they are used; each is made anew. */
export const hostileValues: Readonly<Record<string, () => unknown>> = {
  "a revoked proxy": () => revoked({}),
  "a revoked list": () => revoked([]),
  "a proxy that throws": () => new Proxy({}, handler),
  "a list that throws": () => new Proxy([], { get: trap }),
  "a getter that throws": () => ({
    message: "look",
    name: "look",
    get text() {
      return trap();
    },
    get value() {
      return trap();
    },
  }),
  "a toJSON that throws": () => ({ toJSON: trap, toString: trap }),
  "a thenable that throws in then": () => ({ then: trap }),
  "a then that throws when it is read": () => ({
    get then() {
      return trap();
    },
  }),
  "an error without a readable message": () => Object.defineProperty(new Error("x"), "message", { get: trap }),
  "an error that is its own cause": () => {
    const error = new Error("circle");
    return Object.assign(error, { cause: error });
  },
  "an object that holds itself": () => {
    const circle: Record<string, unknown> = {};
    return Object.assign(circle, { circle });
  },
  "a failure look-alike": () => ({
    stop: "aborted",
    phase: "tool",
    message: "not ours",
    failure: "provider",
    holds: [],
  }),
  "a symbol": () => Symbol("odd"),
  "a bigint": () => 10n,
  NaN: () => Number.NaN,
  null: () => null,
  nothing: () => undefined,
  "a function": () => trap,
  "a deep list": () => {
    let deep: unknown = [];
    for (let level = 0; level < 20_000; level++) deep = [deep];
    return deep;
  },
  "a Map": () => new Map([["a", 1]]),
};

/** What may happen at a point of somebody else's code in place of what it does. */
export const harms: Readonly<Record<string, () => unknown>> = {
  "throws an error": () => {
    throw new Error("boom");
  },
  "throws nothing": () => {
    throw undefined;
  },
  ...Object.fromEntries(
    Object.entries(hostileValues).flatMap(([name, make]) => [
      [
        `throws ${name}`,
        () => {
          throw make();
        },
      ],
      [
        `rejects with ${name}`,
        async () => {
          throw make();
        },
      ],
      [`returns ${name}`, make],
    ]),
  ),
};
