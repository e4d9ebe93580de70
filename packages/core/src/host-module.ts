interface HostProcess {
  getBuiltinModule?(name: string): unknown;
}

/**
 * Returns a module that the host brings, Node's name for it given; undefined where there is none. It is looked up and not
 * imported, so that a package loads in every runtime. Node, Bun, Deno and workerd with nodejs_compat have such modules.
 */
export function hostModule<Module extends object>(name: string): Partial<Module> | undefined {
  const host = (globalThis as { readonly process?: HostProcess }).process;
  const found = host?.getBuiltinModule?.(name);
  return typeof found === "object" && found !== null ? (found as Partial<Module>) : undefined;
}
