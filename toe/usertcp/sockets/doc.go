// Package sockets contains only tests of extsock over the TCP in user space.
package sockets
