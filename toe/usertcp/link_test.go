package usertcp_test

import (
	"github.com/rddp/rddp/toe/badlink"
	"github.com/rddp/rddp/toe/tun"
	"github.com/rddp/rddp/toe/usertcp"
)

// What the comment of Link names is a Link.
var (
	_ usertcp.Link = (*tun.Device)(nil)
	_ usertcp.Link = (*badlink.End)(nil)
)
