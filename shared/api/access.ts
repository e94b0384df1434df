/**
 * The access rule of an endpoint: a list of grants, any of which is enough. The database applies the
 * rule (it reads roles and permissions afresh); `says` puts it into the API reference.
 */

export interface Access {
  /** Grants as `private.identify` words them. */
  readonly any: readonly string[];
  readonly description: string;
  /** The code of the refusal; `forbidden` unless the interface names another. */
  readonly errorCode?: string;
  /** No token at all is needed. */
  readonly publicAccess?: true;
}

export type Role =
  | "system_admin"
  | "tenant_admin"
  | "operations_manager"
  | "dispatcher"
  | "warehouse_manager"
  | "warehouse_staff"
  | "driver"
  | "institution"
  | "customer";

export type Permission =
  | "view:tenant"
  | "manage:tenant"
  | "manage:operations:tenant"
  | "manage:module:warehouse"
  | "manage:system"
  | "manage:user_access:system"
  | "view:metrics:system";

/** People with one of these roles; system administrators always. */
export function role(...roles: Role[]): Access {
  return {
    any: ["role:system_admin", ...roles.map((name) => `role:${name}`)],
    description: `role ${roles.join(" or ")}`,
  };
}

/** People with one of these permissions; system administrators have them all. */
export function permission(...permissions: Permission[]): Access {
  return {
    any: permissions.map((name) => `permission:${name}`),
    description: `permission ${permissions.join(" or ")}`,
  };
}

/** Every member of the tenant. */
export function member(): Access {
  return {
    any: ["role:system_admin", "type:staff", "type:driver", "type:institution", "type:customer"],
    description: "any member of the tenant",
  };
}

/** Every member of the tenant, and programs with a key of it that may see it. */
export function memberOrKey(): Access {
  return anyOf(member(), permission("view:tenant"));
}

/** Programs, with an API key. */
export function apiKey(): Access {
  return { any: ["api_key"], description: "an API key" };
}

/** Everybody with a valid token, in a tenant or not. */
export function anyone(): Access {
  return { any: ["anyone"], description: "any signed-in user" };
}

/** A caller who signed in by a mail to their address, and so reads its mails. */
export function verifiedEmail(): Access {
  return {
    any: ["mailbox"],
    description: "any user who signed in by the link or the code in a mail to their address",
    errorCode: "mailbox_not_proven",
  };
}

/** The system itself, with a secret key of the project. */
export function service(): Access {
  return { any: ["service"], description: "the system itself (secret key)" };
}

/** Nobody has to sign in. */
export function open(): Access {
  return { any: ["anyone"], description: "public, no token", publicAccess: true };
}

/** Any of several rules. */
export function anyOf(...rules: Access[]): Access {
  return {
    any: [...new Set(rules.flatMap((rule) => rule.any))],
    description: rules.map((rule) => rule.description).join(", or "),
  };
}

/** The same rule with the refusal code the interface documents for it. */
export function withErrorCode(rule: Access, code: string): Access {
  return { ...rule, errorCode: code };
}
