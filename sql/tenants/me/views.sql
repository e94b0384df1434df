drop view if exists tenancy.notifications_mine cascade;

-- The caller's notifications, of the present tenant and of the platform: their own only, also for those who see
-- the whole tenant.
create view tenancy.notifications_mine with (security_invoker = true) as
select n.id, n.tenant_id, n.type, n.payload, n.read_at, n.created_at
from tenancy.notifications n
where n.user_id = (select app.user_id());

grant select on tenancy.notifications_mine to barid_caller;

drop view if exists tenancy.notifications_list cascade;

-- The same for functions of 1.6.0, which fail on a type that they have no text for: between the migrations and the new functions, and after going
-- back. Goes with the release after the next.
create view tenancy.notifications_list with (security_invoker = true) as
select n.* from tenancy.notifications_mine n
where n.type in ('assignment_created', 'bulk_assignment_created', 'assignment_returned', 'assignments_handed_over', 'auto_assignment_failed',
  'delivery_postponed_in_van', 'picking_assigned', 'delivery_cancelled', 'delivery_changed', 'amount_change_requested', 'amount_change_declined',
  'outcome_undone', 'cash_handed_over', 'cash_handover_reversed', 'cod_settlement_reversed', 'market_submitted', 'market_approved',
  'market_rejected', 'payment_unmatched', 'shipment_cancelled', 'tenant_invitation');

grant select on tenancy.notifications_list to barid_caller;
