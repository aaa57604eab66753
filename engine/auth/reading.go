package auth

import "maps"

// changing are the built-in functions that change something outside of the transaction that they are called in, or
// run code that may.
var changing = [...]string{
	"api::invoke", "eval::gql", "eval::surql", "file::copy", "file::copy_if_not_exists", "file::delete", "file::put",
	"file::put_if_not_exists", "file::rename", "file::rename_if_not_exists", "http::delete", "http::patch",
	"http::post",
	"http::put", "sequence::next", "sequence::nextval",
}

// Reading are the capabilities c without the functions and scripts that change something.
func (c *Capabilities) Reading() *Capabilities {
	all := Everything()
	out := Capabilities{Functions: all, Net: all, RPC: all, HTTP: all, Query: all, Eval: all, Experimental: all,
		Guests: true}
	if c != nil {
		out = *c
	}
	out.Scripting = false
	deny := Set{All: out.Functions.Deny.All, Names: maps.Clone(out.Functions.Deny.Names)}
	if deny.Names == nil {
		deny.Names = map[string]bool{}
	}
	for _, name := range changing {
		deny.Names[name] = true
	}
	out.Functions.Deny = deny
	return &out
}
