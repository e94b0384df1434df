import { feature, serve } from "../../shared/serve.ts";

export default serve(
  "tenants",
  [
    // Paths begin with a tenant's id or `me`: one feature takes them all.
    feature("*", async () => [
      ...(await import("./me/routes.ts")).me,
      ...(await import("./users/routes.ts")).tenantUsers,
      ...(await import("./settings/routes.ts")).settings,
    ]),
  ],
  async () => ({
    "tenants.remove_auth_user": (await import("./users/auth-users.ts")).removeAuthUser,
  }),
);
