package fn

import (
	"math"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func fileFuncs() []entry {
	return methodsOn(kindSet(value.KindFile), []entry{
		{sig: "file::bucket(file: file) -> string", impl: fileBucket, doc: "The bucket of a file."},
		{sig: "file::key(file: file) -> string", impl: fileKey, doc: "The key of a file, with a leading slash."},
		{sig: "volatile files file::copy(file: file, target: any) -> none", impl: fileCopy(true, false),
			doc: "Copies to another key or file."},
		{sig: "volatile files file::copy_if_not_exists(file: file, target: any) -> none", impl: fileCopy(false, false),
			doc: "Copies to another key or file unless it exists."},
		{sig: "volatile files file::rename(file: file, target: any) -> none", impl: fileCopy(true, true),
			doc: "Moves to another key or file."},
		{sig: "volatile files file::rename_if_not_exists(file: file, target: any) -> none", impl: fileCopy(false, true),
			doc: "Moves to another key or file unless it exists."},
		{sig: "volatile files file::delete(file: file) -> none", impl: fileDelete, doc: "Removes a file, if it is there."},
		{sig: "volatile files file::exists(file: file) -> bool", impl: fileExists, doc: "Whether a file is there."},
		{sig: "volatile files file::get(file: file) -> option<bytes>", impl: fileGet, doc: "The bytes of a file, or NONE."},
		{sig: "volatile files file::head(file: file) -> option<object>", impl: fileHead,
			doc: "The file, its size and when it was updated, or NONE."},
		{sig: "volatile files file::list(bucket: string, options?: object) -> array<object>", impl: fileList,
			doc: "The files of a bucket in order of their keys."},
		{sig: "volatile files file::put(file: file, data: any) -> none", impl: filePut(true), doc: "Writes bytes or text."},
		{sig: "volatile files file::put_if_not_exists(file: file, data: any) -> none", impl: filePut(false),
			doc: "Writes bytes or text unless the file exists."},
	})
}

// files is the host's way into buckets. Without one no bucket exists.
func (c Call) files(bucket string) (FileHost, error) {
	h, ok := c.Host.(FileHost)
	if !ok {
		return nil, errs.Internal("The bucket '%s' does not exist", bucket)
	}
	return h, nil
}

func fileBucket(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(args[0].File().Bucket), nil
}

func fileKey(_ Call, args []value.Value) (value.Value, error) {
	return value.Str(args[0].File().Key), nil
}

func withSlash(key string) string {
	if key == "" || key[0] != '/' {
		return "/" + key
	}
	return key
}

func fileCopy(overwrite, move bool) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		from := args[0].File()
		var to *value.File
		switch args[1].Kind() {
		case value.KindString:
			to = &value.File{Bucket: from.Bucket, Key: withSlash(args[1].Str())}
		case value.KindFile:
			to = args[1].File()
		default:
			return value.None, errs.Internal("Invalid destination file value")
		}
		h, err := c.files(from.Bucket)
		if err != nil {
			return value.None, err
		}
		return value.None, h.CopyFile(from, to, overwrite, move)
	}
}

func fileDelete(c Call, args []value.Value) (value.Value, error) {
	f := args[0].File()
	h, err := c.files(f.Bucket)
	if err != nil {
		return value.None, err
	}
	return value.None, h.DeleteFile(f)
}

func fileExists(c Call, args []value.Value) (value.Value, error) {
	f := args[0].File()
	h, err := c.files(f.Bucket)
	if err != nil {
		return value.None, err
	}
	_, found, err := h.HeadFile(f)
	return value.Bool(found), err
}

func fileGet(c Call, args []value.Value) (value.Value, error) {
	f := args[0].File()
	h, err := c.files(f.Bucket)
	if err != nil {
		return value.None, err
	}
	data, found, err := h.GetFile(f)
	if err != nil || !found {
		return value.None, err
	}
	return value.BytesOf(data), nil
}

func (i FileInfo) object() value.Value {
	return value.ObjectOf(value.ObjectOfSorted([]value.Field{
		{Name: "file", Value: value.FileOf(i.File)},
		{Name: "size", Value: value.Int(i.Size)},
		{Name: "updated", Value: value.DatetimeOf(datetimeOf(i.Updated))},
	}))
}

func fileHead(c Call, args []value.Value) (value.Value, error) {
	f := args[0].File()
	h, err := c.files(f.Bucket)
	if err != nil {
		return value.None, err
	}
	info, found, err := h.HeadFile(f)
	if err != nil || !found {
		return value.None, err
	}
	return info.object(), nil
}

func fileList(c Call, args []value.Value) (value.Value, error) {
	opt := ListFiles{Limit: -1}
	if len(args) == 2 {
		if err := opt.read(args[1].Object()); err != nil {
			return value.None, err
		}
	}
	h, err := c.files(args[0].Str())
	if err != nil {
		return value.None, err
	}
	infos, err := h.ListFiles(args[0].Str(), opt)
	if err != nil {
		return value.None, err
	}
	out := make([]value.Value, len(infos))
	for i, info := range infos {
		out[i] = info.object()
	}
	return value.ArrayOf(out), nil
}

// read takes prefix, start and limit from an object; other fields are ignored.
func (opt *ListFiles) read(o *value.Object) error {
	for name, text := range map[string]*string{"prefix": &opt.Prefix, "start": &opt.After} {
		v, err := option(o, name, value.TypeString)
		if err != nil {
			return err
		}
		if !v.IsNone() {
			*text = v.Str()
		}
	}
	v, err := option(o, "limit", value.TypeInt)
	if err == nil && !v.IsNone() {
		opt.Limit = int(max(-1, min(v.Int(), math.MaxInt32)))
	}
	return err
}

// option is a field of an object of options coerced to a type; NONE where it is not there.
func option(o *value.Object, name string, t value.TypeKind) (value.Value, error) {
	v, _ := o.Get(name)
	if v.IsNone() {
		return v, nil
	}
	out, err := value.Coerce(v, value.Simple(t))
	if err != nil {
		return v, errs.Internal("%s", err)
	}
	return out, nil
}

func filePut(overwrite bool) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		f := args[0].File()
		data, err := value.Cast(args[1], value.Simple(value.TypeBytes), nil)
		if err != nil {
			return value.None, errs.Validation("%s", err)
		}
		h, err := c.files(f.Bucket)
		if err != nil {
			return value.None, err
		}
		return value.None, h.PutFile(f, data.Bytes(), overwrite)
	}
}
