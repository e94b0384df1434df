import { serve } from "../../shared/serve.ts";
import { me } from "./me/routes.ts";
import { settings } from "./settings/routes.ts";
import { removeAuthUser } from "./users/auth-users.ts";
import { tenantUsers } from "./users/routes.ts";

export const endpoints = [...me, ...tenantUsers, ...settings];

export default serve("tenants", endpoints, { "tenants.remove_auth_user": removeAuthUser });
