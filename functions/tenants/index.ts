import { feature, serve } from "../../shared/http/serve.ts";

export default serve(
  "tenants",
  [
    feature(
      { wizard: "A new company in one call: settings, modules, first administrator." },
      async () => (await import("./wizard/routes.ts")).wizard,
    ),
    // Other paths begin with a tenant's id, or are empty: one feature takes them all.
    feature({
      "*": "",
      root: "Companies: creation and administration.",
      tenant: "One company: people, roles, invitations, settings, modules, subscription.",
    }, async () => [
      ...(await import("./administration/routes.ts")).administration,
      ...(await import("./me/tenant.ts")).myTenant,
      ...(await import("./users/routes.ts")).tenantUsers,
      ...(await import("./invitations/routes.ts")).tenantInvitations,
      ...(await import("./settings/routes.ts")).settings,
      ...(await import("./modules/routes.ts")).modules,
      ...(await import("./subscription/routes.ts")).subscription,
    ]),
    feature({
      me: "The caller's own account, companies, notifications, keys and invitations.",
    }, async () => [
      ...(await import("./me/routes.ts")).me,
      ...(await import("./me/notifications.ts")).myNotifications,
      ...(await import("./invitations/mine.ts")).myInvitations,
      ...(await import("./api-keys/routes.ts")).apiKeys,
      ...(await import("./audit/routes.ts")).auditLog,
    ]),
  ],
  async () => ({
    ...(await import("../../shared/dispatch/jobs.ts")).dispatchJobs,
    "tenants.remove_auth_user": (await import("./users/auth-users.ts")).removeAuthUser,
    "tenants.invitation_deliver": (await import("./invitations/deliver.ts")).deliverInvitation,
    "tenants.invitation_withdraw": (await import("./invitations/deliver.ts")).withdrawInvitation,
    "tenants.wizard_undo": (await import("./wizard/run-wizard.ts")).undoWizard,
  }),
);
