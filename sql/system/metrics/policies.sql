-- Reached only through SECURITY DEFINER functions.
select app.deny_table('integration.metric_counts');
