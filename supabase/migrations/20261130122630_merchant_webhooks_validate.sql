-- Written by npm run db:migration. The table is read as a whole, and used meanwhile.
set lock_timeout = '1min';
set statement_timeout = 0;

ALTER TABLE "integration"."event_types" VALIDATE CONSTRAINT "event_types_merchant_fields_check";

ALTER TABLE "integration"."webhook_subscriptions" VALIDATE CONSTRAINT "webhook_subscriptions_disabled_reason_check";

ALTER TABLE "integration"."webhook_subscriptions" VALIDATE CONSTRAINT "webhook_subscriptions_tenant_id_owner_user_id_fkey";
