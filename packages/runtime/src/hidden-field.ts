// What the runtime keeps with an object that its user holds. A WeakMap would cost a microsecond for each object; and where
// the value leads back to its key, V8 frees the two only in a full collection, with whatever they hold.

/** A field that only its maker sees, of objects that others hold, frozen ones too. */
export interface HiddenField<T> {
  of(object: object): T | undefined;
  set(object: object, value: T | undefined): void;
}

/** A class that "constructs" the object which it is given: a class below it puts its private fields there. */
const Given = function (object: object): object {
  return object;
} as unknown as new (object: object) => object;

/**
 * Whether this engine puts private fields on frozen objects. Later ones may refuse, and a WeakMap takes their place
 * there. Source: the TC39 proposal "non-extensible applies to private".
 */
const privateFieldsOnFrozen = ((): boolean => {
  class Probe extends Given {
    #field = true;
    static has(object: object): boolean {
      return #field in object && object.#field;
    }
  }
  const frozen = Object.freeze({});
  try {
    new Probe(frozen);
  } catch {
    return false;
  }
  return Probe.has(frozen);
})();

/** Makes a field for objects of others: of any of them, frozen ones too, it is read and set by this alone. */
export function hiddenField<T>(): HiddenField<T> {
  class Holder extends Given {
    #value: T | undefined;
    constructor(object: object, value: T | undefined) {
      super(object);
      this.#value = value;
    }
    static has(object: object): boolean {
      return #value in object;
    }
    static of(object: object): T | undefined {
      return #value in object ? object.#value : undefined;
    }
    static set(object: object, value: T | undefined): void {
      if (#value in object) object.#value = value;
      else new Holder(object, value);
    }
  }
  if (privateFieldsOnFrozen)
    return { of: (object) => Holder.of(object), set: (object, value) => Holder.set(object, value) };
  const ofFixed = new WeakMap<object, T | undefined>();
  const isFixed = (object: object): boolean => !Holder.has(object) && !Object.isExtensible(object);
  return {
    of: (object) => (isFixed(object) ? ofFixed.get(object) : Holder.of(object)),
    set(object, value) {
      if (isFixed(object)) ofFixed.set(object, value);
      else Holder.set(object, value);
    },
  };
}
