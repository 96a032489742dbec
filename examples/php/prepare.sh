#!/bin/sh
# prepare.sh - write what nginx and php-fpm read below DIR, and remove old sockets.
set -eu
rm -f "$DIR/php.sock" "$DIR/http.sock"
echo '<?php echo "PHP ", PHP_VERSION, "\n";' >"$DIR/index.php"
cat >"$DIR/fpm.conf" <<END
[global]
error_log = /dev/stderr
[www]
user = $(id -un)
listen = $DIR/php.sock
pm = static
pm.max_children = 2
END
cat >"$DIR/nginx.conf" <<END
daemon off;
user $(id -un);
pid $DIR/nginx.pid;
events {}
http {
	access_log off;
	server {
		listen unix:$DIR/http.sock;
		location / {
			fastcgi_pass unix:$DIR/php.sock;
			fastcgi_param SCRIPT_FILENAME $DIR/index.php;
			fastcgi_param REQUEST_METHOD \$request_method;
		}
	}
}
END
