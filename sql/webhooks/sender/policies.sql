select app.deny_table('integration.sender_watch');
