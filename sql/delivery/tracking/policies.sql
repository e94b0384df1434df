-- The token opens what it is for: the log names the link without it.
select app.tenant_table('delivery.tracking_links', own => '{}', operations => 'insert, delete', hidden => 'token', write_condition => 'true');

-- A link is made, seen and ended by everybody who sees its delivery; which of them may, the endpoints say.
drop policy tenant on delivery.tracking_links;
create policy tenant on delivery.tracking_links for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and exists (
    select from delivery.deliveries d where d.tenant_id = tracking_links.tenant_id and d.id = tracking_links.delivery_id));

-- Written by delivery.tracking_answer alone: a recipient is in no company. The log says that an answer changed, and keeps no word and no place
-- that the recipient took away.
select app.tenant_table('delivery.recipient_answers', own => '{}', operations => '', hidden => 'note,latitude,longitude');

-- An answer is seen by everybody who sees its delivery, or a leg of it.
drop policy tenant on delivery.recipient_answers;
create policy tenant on delivery.recipient_answers for all to barid_caller
  using (tenant_id = (select app.tenant_id()) and ((select app.sees_tenant()) or exists (
  select from delivery.deliveries d where d.tenant_id = recipient_answers.tenant_id and d.id = recipient_answers.delivery_id)
  or exists (
  select from delivery.deliveries d where d.tenant_id = recipient_answers.tenant_id and d.parent_id = recipient_answers.delivery_id)));
